"""Apply a patch to a run config: nominal values and ranges of the robot's drive, and ranges of other rows.

The digest of the config follows them, so data made with and without a patch do not mix. Every episode of a run also
has the digest of the patch.
"""

from dataclasses import replace

from twinloop.calibrate.config_bench import refuse_without_drive
from twinloop.calibrate.patch import TwinPatch, robot_digest
from twinloop.errors import UsageError, nearest
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.servo import PREFIX, REPLACED
from twinloop.randomize.table import BY_NAME, rows_of_other_robots
from twinloop.run.config import RunConfig, inapplicable_rows
from twinloop.run.mobile import MobileConfig
from twinloop.run.randomization import ordered_rows
from twinloop.simulate.drives.nominal import drivable_joints


def patched(
    config: RunConfig, patch: TwinPatch, *, name: str = "the patch", config_name: str = "the config"
) -> RunConfig:
    """The config with the patch's nominal values and ranges.

    Args:
        name, config_name: files of the patch and of the config, for messages.

    Raises:
        UsageError: the patch is that of another robot, or of a robot that has changed since.
    """
    refuse_unfit(config, patch, name=name, config_name=config_name)
    replaced = replaced_rows(config, patch)
    kept = {name: rows for name, rows in config.randomization.items() if name.partition(".")[0] not in replaced}
    drive = config.drive if patch.drive is None else patch.drive.in_twin.over(config.drive)
    rows = ordered_rows({**kept, **patched_rows(config, patch)})
    return replace(config, randomization=rows, drive=drive, patch=patch.digest)


def refuse_unfit(config: RunConfig, patch: TwinPatch, *, name: str, config_name: str) -> None:
    """Raise if the patch is not one of the config's robot as it is now."""
    drive, robot = patch.drive, config.scene.robot
    if drive is None:
        return
    refuse_without_drive(config, name=config_name)
    if drive.robot != robot.name:
        raise UsageError(
            f"{name}: drive.robot: the patch is of robot {drive.robot}, and {config_name} has scene.robot: "
            f"{robot.name}; give a patch that `twinloop calibrate` wrote for {robot.name}, or use `--without-patch`"
        )
    if drive.robot_digest != robot_digest(robot):
        raise UsageError(
            f"{name}: drive.robot_digest: the patch was fitted to another model of robot {robot.name} than that of "
            f"{config_name}, so its values do not hold; run `twinloop calibrate {config_name} --logs ...` again, or "
            "use `--without-patch`"
        )
    unknown = [joint for joint in drive.joints if joint not in drivable_joints(robot)]
    if unknown:
        raise UsageError(
            f"{name}: drive.joints: has {unknown[0]!r}, which robot {robot.name} does not drive; "
            f"{nearest(unknown[0], drivable_joints(robot))}"
        )


def patched_rows(config: RunConfig, patch: TwinPatch) -> dict[str, Distribution]:
    """The ranges of the patch, without rows that do not apply to the robot or object of this scene."""
    mobile = isinstance(config, MobileConfig)
    idle = rows_of_other_robots(config.morphology) if mobile else inapplicable_rows(config.scene.world)
    rows = {name: _range(name, *ends) for name, ends in patch.ranges.items() if name not in idle}
    if patch.drive is None:
        return rows
    for name, estimate in patch.fitted.items():
        joint, _, quantity = name.rpartition(".")
        row = PREFIX + quantity
        if joint in patch.drive.joints and row in BY_NAME:
            rows[f"{row}.{joint}"] = _range(row, estimate.low, estimate.high)
    return rows


def replaced_rows(config: RunConfig, patch: TwinPatch) -> frozenset[str]:
    """Rows of all joints that the patch replaces by values of each joint."""
    if patch.drive is None:
        return frozenset()
    joints = config.scene.robot.arm_joints
    return frozenset(
        row for row, quantity in REPLACED.items() if all(f"{joint}.{quantity}" in patch.fitted for joint in joints)
    )


def calibrated_rows(config: RunConfig, patch: TwinPatch) -> frozenset[str]:
    """Rows whose values or ranges the patch sets."""
    return frozenset(name.partition(".")[0] for name in patched_rows(config, patch)) | replaced_rows(config, patch)


def _range(name: str, low: float, high: float) -> Distribution:
    least, most = BY_NAME[name].plausible
    low, high = min(max(low, least), most), min(max(high, least), most)
    return Uniform(low, high) if low < high else Constant(low)
