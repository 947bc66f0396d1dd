"""Inverse kinematics: a pose of the robot is reached again, inside the limits, whatever else is in the batch."""

import mujoco
import numpy as np
import pytest

from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.kinematics import JOINT_LIMIT, OUT_OF_REACH, SELF_COLLISION, solve_poses
from twinloop.twin.robots import robots
from twinloop.twin.self_collision import SelfCollision

DOWN = np.diag([1.0, -1.0, -1.0])
POSES = 60


class Arm:
    """A robot alone, with indices for the solver and some poses that it can reach."""

    def __init__(self, name: str):
        robot = robots()[name]
        self.model = robot.build().compile()
        self.joints = np.array([self.model.joint(joint).id for joint in robot.arm_joints])
        self.site = self.model.site(robot.tool_site).id
        self.home = np.array(robot.home_rad)
        self.low, self.high = self.model.jnt_range[self.joints].T

    def poses(self, rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        data, positions, rotations = mujoco.MjData(self.model), [], []
        for row in rad:
            data.qpos[self.model.jnt_qposadr[self.joints]] = row
            mujoco.mj_kinematics(self.model, data)
            positions.append(data.site_xpos[self.site].copy())
            rotations.append(data.site_xmat[self.site].reshape(3, 3).copy())
        return np.array(positions), np.array(rotations)

    def free_postures(self) -> np.ndarray:
        bodies = SelfCollision(self.model, self.joints, self.home)
        drawn = np.random.default_rng(0).uniform(self.low, self.high, (4 * POSES, len(self.joints)))
        return np.array([row for row in drawn if bodies.colliding(row) is None][:POSES])

    def solve(self, positions, rotations, **options):
        return solve_poses(self.model, self.joints, self.site, positions, rotations, self.home, **options)


@pytest.fixture(params=sorted(name for name, robot in robots().items() if len(robot.arms) == 1))
def arm(request: pytest.FixtureRequest) -> Arm:
    return Arm(request.param)


def test_the_chain_agrees_with_the_engine(arm: Arm):
    rad = arm.free_postures()
    frames = KinematicChain(arm.model, arm.joints, arm.site).frames(rad)
    positions, rotations = arm.poses(rad)
    assert np.allclose(frames.position_m, positions, atol=1e-9)
    assert np.allclose(frames.rotation, rotations, atol=1e-9)
    data = mujoco.MjData(arm.model)
    data.qpos[arm.model.jnt_qposadr[arm.joints]] = rad[0]
    mujoco.mj_forward(arm.model, data)
    jacobian = np.zeros((6, arm.model.nv))
    mujoco.mj_jacSite(arm.model, data, jacobian[:3], jacobian[3:], arm.site)
    assert np.allclose(frames.jacobian[0], jacobian[:, arm.model.jnt_dofadr[arm.joints]], atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"free_roll": True}], ids=["pose", "free roll"])
def test_poses_of_the_arm_are_reached_again_inside_its_limits(arm: Arm, options: dict):
    positions, rotations = arm.poses(arm.free_postures())
    solutions = arm.solve(positions, rotations, **options)
    assert solutions.reachable.mean() > 0.95
    assert (solutions.rad >= arm.low).all()
    assert (solutions.rad <= arm.high).all()
    reached_m, reached = arm.poses(solutions.rad)
    ok = solutions.reachable
    assert np.abs(reached_m - positions)[ok].max() < 1e-3
    compared = (reached[:, :, 2:], rotations[:, :, 2:]) if options else (reached, rotations)
    assert np.abs(compared[0] - compared[1])[ok].max() < 0.015
    bodies = SelfCollision(arm.model, arm.joints, arm.home)
    assert all(bodies.colliding(row) is None for row in solutions.rad[ok])


def test_a_result_does_not_depend_on_the_batch(arm: Arm):
    positions, rotations = arm.poses(arm.free_postures()[:8])
    together = arm.solve(positions, rotations)
    alone = [arm.solve(positions[[row]], rotations[[row]]) for row in range(8)]
    assert np.array_equal(together.rad, np.concatenate([solution.rad for solution in alone]))


def test_poses_out_of_reach_are_named():
    arm = Arm("franka_panda")
    rotations = np.tile(DOWN, (3, 1, 1))
    solutions = arm.solve([[3.0, 0, 0.3], [0.9, 0, 0.02], [0.5, 0, 0.2]], rotations)
    assert solutions.reachable.tolist() == [False, False, True]
    assert solutions.reasons.tolist() == [OUT_OF_REACH, OUT_OF_REACH, ""]
    assert solutions.position_error_m[1] > 1e-3


def test_a_redundant_arm_stays_near_the_start_posture():
    arm = Arm("franka_panda")
    positions, rotations = arm.poses(arm.home[None])
    elsewhere = solve_poses(
        arm.model, arm.joints, arm.site, positions, rotations, arm.home + np.array([0.4, 0, -0.4, 0, 0.3, 0, 0])
    )
    there = arm.solve(positions, rotations)
    assert elsewhere.reachable.all()
    assert there.reachable.all()
    assert np.abs(there.rad - arm.home).max() < 0.01
    assert np.abs(elsewhere.rad - arm.home).max() > 0.1


def folding_arm(limit: str) -> mujoco.MjModel:
    """A planar arm of three links whose tip can fold back onto its base."""
    link = '<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>'
    return mujoco.MjModel.from_xml_string(f"""
      <mujoco><compiler angle="radian" autolimits="true"/><worldbody><body name="base">
        <geom type="cylinder" size=".06 .05"/>
        <body name="upper"><joint name="a" axis="0 0 1" range="-3 3"/>{link}
          <body name="middle" pos=".3 0 0"><joint name="b" axis="0 0 1" range="{limit}"/>{link}
            <body name="tip" pos=".3 0 0"><joint name="c" axis="0 0 1" range="-3 3"/>{link}
              <site name="tool" pos=".3 0 0"/></body></body></body></body></worldbody></mujoco>""")


@pytest.mark.parametrize(("limit", "reason"), [("-3 3", SELF_COLLISION), ("-.3 .3", JOINT_LIMIT)])
def test_the_reason_names_what_is_in_the_way(limit: str, reason: str):
    model = folding_arm(limit)
    solutions = solve_poses(model, np.arange(3), 0, np.array([[0.0, 0.05, 0.0]]), None, np.full(3, 0.1))
    assert solutions.reasons.tolist() == [reason]
    assert not solutions.reachable.any()


def test_a_joint_that_does_not_move_the_tool_is_an_error():
    model = Arm("franka_panda").model
    with pytest.raises(ValueError, match="left_finger"):
        KinematicChain(model, np.array([model.joint("left_finger").id]), model.site("tool").id)


@pytest.mark.parametrize("name", ["franka_panda", "so101"])
def test_poses_without_jacobians_are_those_of_the_engine(name: str):
    arm = Arm(name)
    rad = np.random.default_rng(1).uniform(arm.low, arm.high, (20, len(arm.joints)))
    chain = KinematicChain(arm.model, arm.joints, arm.site)
    for values, expected in zip(chain.poses(rad), arm.poses(rad), strict=True):
        np.testing.assert_allclose(values, expected, atol=1e-12)
