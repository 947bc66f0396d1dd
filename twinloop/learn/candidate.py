"""Candidate: a policy to evaluate in a twin."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from twinloop.errors import CheckpointError
from twinloop.learn.card import read_card
from twinloop.learn.runtime import PolicyRuntime
from twinloop.learn.space import Space, camera_misfit, table_of, with_derived
from twinloop.observe.features import features_of
from twinloop.observe.pictures import picture_features
from twinloop.run.config import RunConfig, load_config
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Candidate:
    """A policy to evaluate in a twin.

    Attributes:
        name: name for output.
        digest: digest of its card.
        policy: its kind.
        space: its inputs and actions.
        load: loads the policy runtime; can be called in any process.
        seeds: seeds of the simulated runs that it was trained on.
        runs: (possible folder, config digest) of those runs.
        knows_real: it was trained on real data, and gets the input that says so in the twin too.
    """

    name: str
    digest: str
    policy: str
    space: Space
    load: Callable[[], PolicyRuntime]
    seeds: frozenset[int] = frozenset()
    runs: tuple[tuple[Path, str], ...] = ()
    knows_real: bool = False


def candidate_of(checkpoint: Path) -> Candidate:
    """Return the candidate of a checkpoint. Only the card is read; workers load the network.

    Policies have an input that says whether data is real. One that was trained on real data gets it on a robot, and may
    act differently with it. It acts in the same way in a twin, so that an evaluation shows what will be deployed.
    """
    card = read_card(checkpoint)
    simulated = [source for source in card.data if source["kind"] != "real"]
    return Candidate(
        name=checkpoint.resolve().name,
        digest=card.digest,
        policy=card.policy,
        space=card.space,
        load=partial(_load, str(checkpoint.resolve()), knows_real=card.knows_real),
        seeds=frozenset(int(source["run_seed"]) for source in simulated),
        runs=tuple(
            (folder / str(source["path"]), str(source["config_digest"]))
            for source in simulated
            for folder in (Path(), Path("datasets"), checkpoint.parent, checkpoint.parent.parent / "datasets")
        ),
        knows_real=card.knows_real,
    )


class _RobotRuntime:
    """A runtime with the input `real` set."""

    def __init__(self, runtime: PolicyRuntime):
        self._runtime = runtime
        self.space, self.horizon, self.executed = runtime.space, runtime.horizon, runtime.executed

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        del real
        return self._runtime.chunks(observation, instructions=instructions, real=True, noise=noise)


def home_config(candidate: Candidate) -> tuple[RunConfig, str] | None:
    """Return (config, name) of a simulated dataset it was trained on, or None if no unchanged one is found."""
    for folder, digest in candidate.runs:
        path = folder / "config.yaml"
        if path.is_file():
            config = load_config(path)
            if config.digest == digest:
                return config, folder.name
    return None


def _load(path: str, *, knows_real: bool) -> PolicyRuntime:
    from twinloop.learn.checkpoint import load_runtime

    runtime = load_runtime(Path(path))
    # One thread per worker, because the workers already use all cores.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return _RobotRuntime(runtime) if knows_real else runtime


def space_of(config: RunConfig, twin: Twin, like: Space) -> Space:
    """Return the space of the twin, with those inputs of `like` that the twin provides."""
    offered = {
        feature.name: feature for feature in features_of(twin, config.observe) + picture_features(config.cameras, twin)
    }
    offered = with_derived(offered, twin.robot.name, [feature.name for feature in like.inputs])
    inputs = tuple(offered[feature.name] for feature in like.inputs if feature.name in offered)
    return replace(like, robot=twin.robot.name, rate_hz=float(twin.control_hz), inputs=inputs, action=offered["action"])


def refuse_misfit(candidate: Candidate, config: RunConfig, twin: Twin, *, config_name: str) -> None:
    """Raise CheckpointError if the policy was trained for another robot, rate or set of sensors."""
    differences = candidate.space.differences(space_of(config, twin, candidate.space))
    if differences:
        table = table_of(differences, here=candidate.name, there=config_name)
        cameras = camera_misfit(candidate.space, picture_features(config.cameras, twin), where=config_name)
        raise CheckpointError(
            f"{candidate.name} does not fit the cell of {config_name}. {cameras}\nDifferences:\n{table}"
        )
