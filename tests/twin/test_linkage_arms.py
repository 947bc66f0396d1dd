"""UR5e with 2F-85 and xArm 7 with its gripper, against their published figures."""

import mujoco
import numpy as np
import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.twin.robot import Robot
from twinloop.twin.robots.ur5e_2f85 import UR5E_2F85
from twinloop.twin.robots.xarm7 import XARM7

pytestmark = pytest.mark.usefixtures("no_trials")

# Rows of a, d, alpha. UR: the maker's table, in the standard convention. xArm: the maker's table, in Craig's.
UR5E_DH = (
    (0, 0.1625, np.pi / 2), (-0.425, 0, 0), (-0.3922, 0, 0), (0, 0.1333, np.pi / 2), (0, 0.0997, -np.pi / 2),
    (0, 0.0996, 0),
)  # fmt: skip
XARM7_DH = (
    (0, 0.267, 0), (0, 0, -np.pi / 2), (0, 0.293, np.pi / 2), (0.0525, 0, np.pi / 2), (0.0775, 0.3425, np.pi / 2),
    (0, 0, np.pi / 2), (0.076, 0.097, -np.pi / 2),
)  # fmt: skip
ARMS = pytest.mark.parametrize("robot", [UR5E_2F85, XARM7], ids=lambda robot: robot.name)


def moved(x: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, 0, z
    return pose


def turned(about_x: float, about_z: float) -> np.ndarray:
    (cx, sx), (cz, sz) = (np.cos(about_x), np.sin(about_x)), (np.cos(about_z), np.sin(about_z))
    x = np.array([[1, 0, 0, 0], [0, cx, -sx, 0], [0, sx, cx, 0], [0, 0, 0, 1]])
    z = np.array([[cz, -sz, 0, 0], [sz, cz, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    return x @ z if about_x else z


def flange(robot: Robot, angles: np.ndarray) -> np.ndarray:
    # The base of the UR is turned by 180 degrees.
    pose = turned(0, np.pi) if robot is UR5E_2F85 else np.eye(4)
    for (a, d, alpha), theta in zip(UR5E_DH if robot is UR5E_2F85 else XARM7_DH, angles, strict=True):
        if robot is UR5E_2F85:
            pose = pose @ turned(0, theta) @ moved(a, d) @ turned(alpha, 0)
        else:
            pose = pose @ moved(a, 0) @ turned(alpha, theta) @ moved(0, d)
    return pose


def posed(robot: Robot, angles, *, model: mujoco.MjModel | None = None) -> mujoco.MjData:
    model = model or robot.build().compile()
    data = mujoco.MjData(model)
    for joint, angle in zip(robot.arm_joints, angles, strict=True):
        data.joint(joint).qpos = angle
    mujoco.mj_forward(model, data)
    return data


@ARMS
def test_forward_kinematics_are_those_of_the_maker(robot: Robot, rng: np.random.Generator):
    model = robot.build().compile()
    last = model.joint(robot.arm_joints[-1]).bodyid[0]
    for angles in rng.uniform(-1.5, 1.5, (20, len(robot.arm_joints))):
        data, expected = posed(robot, angles, model=model), flange(robot, angles)
        np.testing.assert_allclose(data.xpos[last], expected[:3, 3], atol=1e-9)
        np.testing.assert_allclose(data.xmat[last].reshape(3, 3), expected[:3, :3], atol=1e-9)


@pytest.mark.parametrize(
    ("robot", "links_kg", "gripper_kg"), [(UR5E_2F85, 17.7, 0.925), (XARM7, 10.4315, 0.822)], ids=["ur5e", "xarm7"]
)
def test_masses_are_the_published_ones(robot: Robot, links_kg: float, gripper_kg: float):
    model = robot.build().compile()
    first = model.joint(robot.arm_joints[0]).bodyid[0]
    assert model.body("hand").subtreemass[0] == pytest.approx(gripper_kg)
    assert model.body_subtreemass[first] == pytest.approx(links_kg + gripper_kg)


@ARMS
def test_at_home_the_hand_points_down_and_the_fingers_move_sideways(robot: Robot):
    axes = posed(robot, robot.home_rad).site("tool").xmat.reshape(3, 3)
    np.testing.assert_allclose(axes[:, 2], [0, 0, -1], atol=1e-3)
    assert abs(axes[1, 1]) > 0.999


@pytest.mark.parametrize(("robot", "stroke_m"), [(UR5E_2F85, 0.085), (XARM7, 0.084)], ids=["ur5e", "xarm7"])
def test_the_gripper_has_its_stroke_and_its_pads_stay_parallel(robot: Robot, stroke_m: float):
    model = robot.build().compile()
    pads = [model.geom(f"{side}_pad").id for side in ("left", "right")]
    gaps = []
    for control in (robot.gripper.open_control, robot.gripper.closed_control):
        data = posed(robot, robot.home_rad, model=model)
        data.ctrl[: len(robot.home_rad)], data.ctrl[-1] = robot.home_rad, control
        for _ in range(1500):
            mujoco.mj_step(model, data)
        facing = [data.geom_xmat[pad].reshape(3, 3)[:, 1] for pad in pads]
        assert facing[0] @ facing[1] > 0.9999
        gaps.append(mujoco.mj_geomDistance(model, data, *pads, 1.0, None))
    assert gaps[0] == pytest.approx(stroke_m, abs=0.0015)
    assert gaps[1] == pytest.approx(0, abs=0.002)


@ARMS
def test_the_expert_picks_and_places(robot: Robot, tmp_path):
    cell = tmp_path / "cell.yaml"
    cell.write_text(f"scene: {{robot: {robot.name}, task: pick_and_place}}\n")
    assert main(["generate", str(cell), "--episodes", "16", "--workers", "1", "--out", str(tmp_path / "data")]) == 0
    attempts = Dataset.open(tmp_path / "data").attempts()
    assert sum(attempts["success"].to_pylist()) >= 15
