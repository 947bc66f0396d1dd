"""Run a policy on a robot."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from twinloop.api.arguments import CheckpointLike, PathOrStr, folder
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.keys import terminal
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.session import DeployResult, PolicySource, SessionProgress
from twinloop.deploy.session import deploy as _deploy
from twinloop.gate.permit import policy_named


def deploy(
    checkpoint: CheckpointLike,
    robot: str | LiveRobot,
    out: PathOrStr | None = None,
    *,
    episodes: int = 10,
    first: int = 0,
    control: CheckpointLike | None = None,
    registry: PathOrStr = "registry",
    speed: float | None = None,
    limits: PathOrStr | None = None,
    ensemble: float | None = None,
    episode_timeout_s: float | None = None,
    conditions: Mapping[str, str] | None = None,
    task: str | None = None,
    stop_file: PathOrStr | None = None,
    seed: int = 0,
    workers: int = 1,
    on_progress: Callable[[SessionProgress], None] | None = None,
) -> DeployResult:
    """Run a policy on a robot, at a fixed rate, behind the safety filter, and log every episode.

    Args:
        checkpoint: an entry of the registry: `"production"`, `"canary"` or the first digits of a digest. For twins and
            rehearsal cells also the policy, its folder, or an exported ONNX file; such episodes are ungated.
        robot: `"twin"`, `"twin:CONFIG.yaml"`, `"rehearsal:CELL"`, `"lerobot:CONFIG.yaml"`, a plugin, or a live robot.
        out: the runlog's folder. Default: `runlogs/ROBOT`. Episodes that it already holds are not repeated.
        episodes: number of scenes; each policy acts in every one.
        first: number of the first scene.
        control: a second policy. Both act in every scene, in random order.
        registry: the registry's folder.
        speed: factor for the velocity and acceleration limits. Default: as much as the gate allows.
        limits: a YAML file that narrows the robot's limits.
        ensemble: average overlapping action chunks with weights exp(-ensemble · age). Default: no averaging.
        episode_timeout_s: timeout of an episode. Default: the task's.
        conditions: notes that are stored with every episode, for example `{"light": "dim"}`.
        task: name of the task. Default: the one that the robot is set up for, else pick_and_place.
        stop_file: the e-stop: latched while this file exists. Default: one file per robot.
        seed: of the order of the policies and of what they draw.
        workers: number of rehearsal cells or twins that run in parallel.
        on_progress: called after every episode.

    Example:
        >>> deployed = tl.deploy("policies/demo", "twin:cell.yaml", "runlogs/demo", episodes=8)
        >>> sum(tally.success.trials for tally in deployed.tallies)
        8
    """
    policies = {"": _policy(checkpoint, Path(registry))}
    if control is not None:
        policies = {"candidate": policies[""], "control": _policy(control, Path(registry))}
    name = robot if isinstance(robot, str) else type(robot).__name__
    return _deploy(
        policies,
        robot,
        Path(out) if out is not None else Path("runlogs") / re.sub("[^A-Za-z0-9.]+", "-", name).strip("-"),
        episodes=episodes,
        first=first,
        config=DeployConfig(
            speed=speed,
            limits_file=Path(limits) if limits is not None else None,
            ensemble=ensemble,
            episode_timeout_s=episode_timeout_s,
            conditions=dict(conditions or {}),
            seed=seed,
        ),
        stop_file=Path(stop_file) if stop_file is not None else None,
        workers=workers,
        attended=terminal() and workers == 1,
        task=task,
        on_progress=on_progress or (lambda _: None),
    )


def _policy(checkpoint: CheckpointLike, registry: Path) -> PolicySource:
    return policy_named(checkpoint, registry) if isinstance(checkpoint, str) else folder(checkpoint)
