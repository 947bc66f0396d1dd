"""Drives of users' robots: whatever moves arm and gripper in the file, the proposed mapping picks and places."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import pytest

from tests.twin.test_inspect_robot import inspect, successes
from twinloop.twin.robots.franka_panda import build

pytestmark = pytest.mark.usefixtures("no_trials")

JOINT, TENDON = mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_TENDON
FINGERS = ("left_finger", "right_finger")


def without_gripper_drive(*, coupled: bool = True) -> mujoco.MjSpec:
    spec = build()
    spec.delete(next(actuator for actuator in spec.actuators if actuator.name == "gripper"))
    for coupling in [] if coupled else list(spec.equalities):
        spec.delete(coupling)
    return spec


def general_on_tendon() -> mujoco.MjSpec:
    """A tendon of both fingers and a general actuator with controls from 0 to 255."""
    spec = without_gripper_drive(coupled=False)
    drive = spec.add_actuator(name="hand", target="spindle", trntype=TENDON)
    drive.gainprm[0], drive.biastype = 0.04 / 255 * 350, mujoco.mjtBias.mjBIAS_AFFINE
    drive.biasprm[:3] = [0, -350, -10]
    drive.ctrlrange, drive.forcerange = (0, 255), (-100, 100)
    return spec


def motor_on_coupled_finger() -> mujoco.MjSpec:
    """A motor on one finger; an equality moves the other."""
    spec = without_gripper_drive()
    drive = spec.add_actuator(name="hand", target=FINGERS[0], trntype=JOINT)
    drive.set_to_motor()
    drive.ctrlrange = (-20, 20)
    return spec


def geared_motors() -> mujoco.MjSpec:
    """Motors with a gear on the arm, limited by their controls."""
    spec = build()
    for actuator in [one for one in spec.actuators if one.name.startswith("joint")]:
        torque_nm = float(actuator.forcerange[1])
        actuator.set_to_motor()
        actuator.gear[0], actuator.dyntype, actuator.forcerange = 50, mujoco.mjtDyn.mjDYN_NONE, (0, 0)
        actuator.ctrlrange = (-torque_nm / 50, torque_nm / 50)
    return spec


@pytest.mark.parametrize("model", [general_on_tendon, motor_on_coupled_finger, geared_motors])
def test_it_picks_and_places(
    model: Callable[[], mujoco.MjSpec], tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    spec = model()
    spec.compile()
    Path("arm.xml").write_text(spec.to_xml())
    code, text, _ = inspect(capsys, "arm.xml")
    assert code == 0
    (tmp_path / "cell.yaml").write_text(text)
    assert successes(tmp_path / "cell.yaml", 4) == 4
