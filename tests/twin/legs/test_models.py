"""Legged robots: masses, lengths and limits of the published figures, and symmetry."""

import mujoco
import numpy as np
import pytest

from twinloop.twin.legs import legged_robots
from twinloop.twin.legs.legged_robot import LeggedRobot
from twinloop.twin.legs.terrain import make_terrain
from twinloop.twin.legs.walk_twin import WalkTwin, assemble_walk

MASSES_KG = {"quadruped": 15.0, "humanoid": 32.1}


@pytest.fixture(params=sorted(MASSES_KG))
def robot(request: pytest.FixtureRequest) -> LeggedRobot:
    return legged_robots()[request.param]


@pytest.fixture
def twin(robot: LeggedRobot) -> WalkTwin:
    return assemble_walk(robot, make_terrain("flat"))


def _feet_in_home_pose(twin: WalkTwin, joints: np.ndarray) -> np.ndarray:
    """(feet, 3) places of the feet relative to the base."""
    data = mujoco.MjData(twin.model)
    data.qpos[3], data.qpos[twin.arm_qpos] = 1.0, joints
    mujoco.mj_kinematics(twin.model, data)
    return data.site_xpos[twin.foot_sites] - data.qpos[:3]


def test_mass_and_limits_are_the_published_ones(robot: LeggedRobot, twin: WalkTwin):
    assert twin.model.body_mass.sum() == pytest.approx(MASSES_KG[robot.name], rel=0.01)
    forces = twin.model.actuator_forcerange[twin.arm_controls, 1]
    np.testing.assert_allclose(forces, robot.torque_limits_nm)
    limits = twin.model.jnt_range[twin.arm_joints]
    assert (limits[:, 0] < robot.home_rad).all()
    assert (limits[:, 1] > robot.home_rad).all()


def test_the_nominal_pose_has_its_feet_on_the_ground_at_the_nominal_height(robot: LeggedRobot, twin: WalkTwin):
    heights = _feet_in_home_pose(twin, np.array(robot.home_rad))[:, 2]
    np.testing.assert_allclose(heights + robot.home_height_m, twin.foot_rest_m, atol=4e-3)


def test_mirrored_joints_give_the_mirror_image(robot: LeggedRobot, twin: WalkTwin):
    offset = 0.1 * np.random.default_rng(0).standard_normal(len(robot.joints))
    home = np.array(robot.home_rad)
    feet = _feet_in_home_pose(twin, home + offset)
    image = _feet_in_home_pose(twin, home + robot.mirrored(offset))
    pairs = [1, 0, 3, 2][: len(feet)]
    np.testing.assert_allclose(image[pairs], feet * [1, -1, 1], atol=2e-3)
    np.testing.assert_allclose(robot.mirrored(robot.mirrored(offset)), offset)
