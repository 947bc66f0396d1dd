"""Calibrate a robot by moving it: excitation, log, fit and patch, without a person's help. A second call continues."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from twinloop.calibrate.apply_patch import calibrated_rows, patched
from twinloop.calibrate.design import design_excitation
from twinloop.calibrate.fit_config import calibrate_config
from twinloop.calibrate.patch import TwinPatch, load_patch
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.play import play
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.robots import robot_named
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import DatasetError, RobotError, UsageError
from twinloop.run.config import RunConfig

PATCH, EXCITED, MOTIONS, SKIPPED = "patch.yaml", "excited", "motions", "skipped.txt"


@dataclass(frozen=True)
class SessionConfig:
    """The motions of a session. speed: factor on the robot's limits. fit: variables, or all that the logs tell."""

    motions: int = 2
    seconds: float = 15.0
    candidates: int = 16
    speed: float = 1.0
    fit: Sequence[str] = ()


def calibrate_robot(
    config: RunConfig,
    robot: str | LiveRobot,
    folder: Path,
    *,
    seed: int,
    session: SessionConfig = SessionConfig(),  # noqa: B008
    on_step: Callable[[str], None] = lambda _: None,
) -> TwinPatch:
    """Move the robot so that its log tells its drive, fit the log, and write `folder`/patch.yaml.

    Raises:
        RobotError: the motions were stopped.
        UsageError, DatasetError: the motions are not possible, or their logs determine nothing.
    """
    file = folder / PATCH
    if not file.exists():
        if not (folder / MOTIONS).exists():
            _excite(config, robot, folder, seed=seed, session=session, on_step=on_step)
        on_step("fitting the drive")
        calibrate_config(config, folder / EXCITED, seed=seed, fit=session.fit).patch.write(file)
    return load_patch(file)


def try_calibration(
    config: RunConfig, robot: str | LiveRobot, folder: Path, *, seed: int, on_activity: Callable[[str], None]
) -> None:
    """Calibrate a robot once. If its motions tell nothing, or are not possible, note why and keep the twin."""
    if is_calibrated(folder) or (folder / SKIPPED).exists():
        return
    try:
        calibrate_robot(config, robot, folder, seed=seed, on_step=on_activity)
    except (UsageError, DatasetError) as error:
        on_activity(f"calibration is skipped: {error}")
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(folder / SKIPPED, f"{error}\n".encode(), scratch=folder)


def is_calibrated(folder: Path) -> bool:
    return (folder / PATCH).exists()


def calibrated_config(config: RunConfig, folder: Path) -> tuple[RunConfig, frozenset[str]]:
    """The config with the patch in `folder`, and the rows that it sets; the config itself where there is no patch."""
    if not is_calibrated(folder):
        return config, frozenset()
    patch = load_patch(folder / PATCH)
    return patched(config, patch, name=str(folder / PATCH)), calibrated_rows(config, patch)


def _excite(
    config: RunConfig,
    robot: str | LiveRobot,
    folder: Path,
    *,
    seed: int,
    session: SessionConfig,
    on_step: Callable[[str], None],
) -> None:
    live = robot_named(robot)
    try:
        on_step("planning motions for calibration")
        plan = design_excitation(
            config, live.connect(), seconds=session.seconds, motions=session.motions, candidates=session.candidates,
            speed=session.speed, seed=seed,
        )  # fmt: skip
        on_step("moving the robot for calibration")
        result = play(
            live, folder / EXCITED, plan.motions, config=DeployConfig(speed=session.speed), task=config.scene.task
        )
    finally:
        live.close()
    if result.stopped:
        raise RobotError(f"calibration: the motions were stopped: {result.stopped}; run the same command again")
    (folder / MOTIONS).touch()
