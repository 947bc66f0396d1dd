"""The load of an arm is read although the twin does not know the masses of the arm well."""

from itertools import pairwise

import mujoco
import numpy as np
import pytest

from twinloop.diagnose.traits import Arm, EpisodeTrace
from twinloop.twin.twin import Twin

CLOSE, LIFT, OPEN, ROWS = 49, 54, 77, 110


def motion(twin: Twin, rng: np.random.Generator) -> np.ndarray:
    """(rows, joints) smooth motions between postures around the home position."""
    home = np.array(twin.robot.home_rad)
    postures = [home, *(home + rng.uniform(-0.4, 0.4, len(home)) for _ in range(5))]
    share = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0, 1, 22))[:, None]
    return np.concatenate([start + share * (end - start) for start, end in pairwise(postures)])


def torques(twin: Twin, arm: Arm, position: np.ndarray, *, load_n: float, rng: np.random.Generator) -> np.ndarray:
    """(rows, joints) torques that the twin's arm needs, with other masses, other friction and a load."""
    own = -arm.unexplained(position, np.zeros_like(position)).rest_nm
    gravity = arm.gravity(position)
    own = own + gravity.torque_nm @ (gravity.deviation * rng.standard_normal(len(gravity.deviation)))
    data, jacobian = mujoco.MjData(twin.model), np.zeros((3, twin.model.nv))
    for row in range(LIFT, OPEN):
        data.qpos[twin.arm_qpos] = position[row]
        mujoco.mj_kinematics(twin.model, data)
        mujoco.mj_comPos(twin.model, data)
        mujoco.mj_jacSite(twin.model, data, jacobian, None, twin.tool_site)
        own[row] += load_n * jacobian[2, twin.arm_dofs]
    return own + 0.3 * np.sign(np.gradient(position, axis=0)) + 0.05 * rng.standard_normal(own.shape)


def carrying(twin: Twin, arm: Arm, *, load_n: float, rng: np.random.Generator, silent: int = 0) -> EpisodeTrace:
    """An episode in which the arm carries a load. silent: number of joints, from the last, that report no torque."""
    position = motion(twin, rng)
    effort = torques(twin, arm, position, load_n=load_n, rng=rng)
    effort[:, effort.shape[1] - silent :] = 0.0
    rows = np.arange(ROWS)
    closed = (rows >= CLOSE) & (rows < OPEN)
    opening = np.where(closed, arm.closed, arm.closed + arm.stroke)
    scene = np.tile(np.array([0.46, -0.13, 0.02, 1, 0, 0, 0, 0.52, 0.17, 0.02, 1, 0, 0, 0]), (ROWS, 1))
    scene[LIFT:OPEN, 2] += 0.1
    commands = np.column_stack([position, opening])
    frames = {
        "observation.state": commands, "observation.effort": np.column_stack([effort, np.zeros(ROWS)]),
        "observation.environment_state": scene, "action": commands, "command": commands,
    }  # fmt: skip
    return EpisodeTrace(frames, success=True, arm=arm)


@pytest.mark.parametrize("load_n", [1.0, 7.7, 20.0])
def test_the_load_is_read_in_an_arm_with_other_masses(twin: Twin, load_n: float):
    arm, rng = Arm(twin), np.random.default_rng(3)
    errors, naive = [], []
    for _ in range(6):
        episode = carrying(twin, arm, load_n=load_n, rng=rng)
        force = episode.outside_force_n
        assert force is not None
        errors.append(episode.load_n - load_n)
        naive.append(np.median(force[episode.held, 2]) - np.median(force[episode.before, 2]) - load_n)
    assert np.abs(errors).max() < 1.0 + 0.1 * load_n
    assert np.sqrt(np.mean(np.square(errors))) < 0.5 * np.sqrt(np.mean(np.square(naive)))


def test_joints_that_report_no_torque_are_left_out(twin: Twin):
    arm, rng = Arm(twin), np.random.default_rng(3)
    episodes = [carrying(twin, arm, load_n=20.0, rng=rng, silent=3) for _ in range(6)]
    assert np.median([episode.load_n for episode in episodes]) == pytest.approx(20.0, abs=3.0)


def test_joints_that_do_not_turn_under_the_load_do_not_show_it(twin: Twin):
    """The first joint turns about the vertical."""
    arm = Arm(twin)
    episode = carrying(twin, arm, load_n=20.0, rng=np.random.default_rng(3), silent=arm.joints - 1)
    assert np.isnan(episode.load_n)
