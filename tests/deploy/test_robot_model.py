"""The model of a live robot: by its name, or from the config that a twin or a rehearsal cell names."""

from pathlib import Path

import pytest

from twinloop.deploy.demonstrator import Demonstrator, demonstrate
from twinloop.deploy.robot_model import model_named
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.twin.robots.franka_panda import build

ROBOT = """scene:
  robot:
    mjcf: arm.xml
    arm_joints: [joint1, joint2, joint3, joint4, joint5, joint6, joint7]
    gripper: {joints: [finger1, finger2], actuator: gripper, fingers: [left_finger, right_finger]}
    home: [0.0, -0.2, 0.0, -2.2, 0.0, 2.0, 0.785]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    spec = build()
    joints = [joint.name for joint in spec.joints][7:]
    spec.compile()
    (tmp_path / "arm.xml").write_text(spec.to_xml())
    (tmp_path / "cell.yaml").write_text(ROBOT.replace("finger1, finger2", ", ".join(joints)))
    return tmp_path / "cell.yaml"


def test_a_robot_given_by_path_is_demonstrated_on(config: Path):
    with TwinRobot(str(config)) as robot:
        about = robot.describe()
        model = model_named(about.id, about.robot)
        assert model is not None
        assert about.robot.startswith("arm-")
        assert demonstrate(robot, Demonstrator(about, seed=0), 1).outcome.success


def test_a_config_with_another_robot_is_no_model(config: Path):
    assert model_named(f"twin:{config}", "another") is None
    assert model_named(f"rehearsal:mild,config={config}", "another") is None
    assert model_named("so101-3", "another") is None
    panda = model_named("so101-3", "franka_panda")
    assert panda is not None
