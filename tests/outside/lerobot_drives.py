"""Run by an interpreter that has lerobot: checks that its interface and units are those that we use.

python lerobot_drives.py so101.yaml
"""
# pyright: reportMissingImports=false
# ruff: noqa: PT017

import math
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from lerobot_opens import name_operators

from twinloop.config.record import read_record
from twinloop.config.section import Section
from twinloop.deploy.lerobot import device
from twinloop.deploy.lerobot.config_file import read_lerobot, unmapped
from twinloop.deploy.lerobot.robot import LerobotRobot, _description
from twinloop.deploy.lerobot.units import DeviceUnit
from twinloop.errors import ConfigError, RobotError

TICKS = 4096  # of a turn of an STS3215
NO_DRIVER = 3


def main(file: Path) -> None:
    from lerobot.robots import Robot
    from lerobot.teleoperators import Teleoperator
    from lerobot.utils.errors import DeviceNotConnectedError

    config = read_lerobot(file)
    for base, names in ((Robot, device.ROBOT), (Teleoperator, device.TELEOPERATOR)):
        assert all(hasattr(base, name) for name in names), f"{base} has not all of {names}"

    robot = device.make_robot(config.robot)
    assert isinstance(robot, Robot), type(robot)
    assert unmapped(config, robot.observation_features) is None
    about = _description(config, "so101", robot)
    assert about.joints == ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
    assert [feature.name for feature in about.observed] == ["observation.state", "observation.images.front"]
    assert about.observed[1].shape == (480, 640, 3)
    assert set(robot.action_features) == {joint.key for joint in config.joints}
    assert not robot.is_connected
    try:
        robot.get_observation()
        raise AssertionError("it tells something unconnected")
    except DeviceNotConnectedError:
        pass
    assert config.teleoperator is not None
    leader = device.make_teleoperator(config.teleoperator)
    assert isinstance(leader, Teleoperator)
    assert set(leader.action_features) == set(robot.action_features)

    for degrees in (True, False):
        units_agree(config, degrees)
    no_such_port(file)
    no_such_robot(config)
    print(f"{len(about.joints)} joints, units agree")


def units_agree(config, degrees: bool) -> None:
    """Through lerobot's own normalisation, from ticks of the encoder to radians."""
    from lerobot.motors import MotorCalibration

    given = replace(config.robot, config={**config.robot.config, "use_degrees": degrees})
    bus = getattr(device.make_robot(given), "bus")  # noqa: B009 - not part of the interface
    low, high = 700, 3500
    bus.calibration = {
        name: MotorCalibration(id=motor.id, drive_mode=0, homing_offset=0, range_min=low, range_max=high)
        for name, motor in bus.motors.items()
    }
    tick_rad = 2 * math.pi / (TICKS - 1)
    half_rad = (high - low) / 2 * tick_rad
    keys = {"given": "degrees"} if degrees else {"given": "-100..100", "ends": [-half_rad, half_rad], "unit": "rad"}
    arm = read_record(DeviceUnit, Section("", "", keys, {})).line
    grip = DeviceUnit(given="0..100", ends=(0.0, 1.0), unit="1").line
    for name, motor in bus.motors.items():
        line = grip if name == "gripper" else arm
        for ticks in (low, 1234, 2100, 2048, high):
            ours = line.ours(bus._normalize({motor.id: ticks})[motor.id])
            middle_rad = (ticks - (low + high) / 2) * tick_rad
            expected = (ticks - low) / (high - low) if name == "gripper" else middle_rad
            assert math.isclose(ours, expected, abs_tol=1e-9), (name, degrees, ticks, ours, expected)
            back = bus._unnormalize({motor.id: line.theirs(ours)})[motor.id]
            assert abs(back - ticks) <= 1, (name, degrees, ticks, back)  # lerobot cuts off, it does not round


def no_such_port(file: Path) -> None:
    robot = LerobotRobot(str(file))
    try:
        robot.connect()
        raise AssertionError("it connected to nothing")
    except RobotError as error:
        assert "connecting failed" in str(error), error


def no_such_robot(config) -> None:
    for wrong in (
        replace(config.robot, type="so101_folower"),
        replace(config.robot, config={"port": "/dev/null", "speed": 3}),
    ):
        try:
            device.make_robot(wrong)
            raise AssertionError("it was made")
        except ConfigError as error:
            assert "so101_follower" in str(error) or "speed" in str(error), error


if __name__ == "__main__":
    if find_spec("scservo_sdk") is None:
        sys.exit(NO_DRIVER)
    operators = name_operators()
    main(Path(sys.argv[1]))
