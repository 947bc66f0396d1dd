"""The Panda against its published figures."""

import mujoco
import numpy as np
import pytest

from twinloop.twin.robots.franka_panda import FRANKA_PANDA, LINKS, build

# Denavit-Hartenberg parameters (Craig's convention) of the Franka Control Interface documentation: a, d, alpha.
DH = (
    (0, 0.333, 0),
    (0, 0, -np.pi / 2),
    (0, 0.316, np.pi / 2),
    (0.0825, 0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0, 0, np.pi / 2),
    (0.088, 0, np.pi / 2),
)


def flange(angles: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    for (a, d, alpha), theta in zip(DH, angles, strict=True):
        ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        pose = pose @ np.array(
            [[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca], [0, 0, 0, 1]]
        )
    return pose @ np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.107], [0, 0, 0, 1]])


def test_forward_kinematics_are_those_of_the_maker(rng: np.random.Generator):
    model = build().compile()
    data = mujoco.MjData(model)
    for _ in range(20):
        low, high = np.array([link.range_rad for link in LINKS]).T
        angles = rng.uniform(low, high)
        data.qpos[:7] = angles
        mujoco.mj_kinematics(model, data)
        expected = flange(angles)
        np.testing.assert_allclose(data.body("hand").xpos, expected[:3, 3], atol=1e-9)
        np.testing.assert_allclose(
            data.body("hand").xmat.reshape(3, 3)[:, 2], expected[:3, 2], atol=1e-9
        )  # the hand is turned about z only


def test_it_weighs_what_its_links_weigh():
    model = build().compile()
    arm = sum(link.mass_kg for link in LINKS)
    assert model.body("link1").subtreemass[0] == pytest.approx(arm + 0.73 + 2 * 0.015)


def test_home_is_within_limits_and_the_hand_points_down():
    for angle, link in zip(FRANKA_PANDA.home_rad, LINKS, strict=True):
        assert link.range_rad[0] < angle < link.range_rad[1]
    np.testing.assert_allclose(flange(np.array(FRANKA_PANDA.home_rad))[:3, 2], [0, 0, -1], atol=1e-3)


def test_the_servos_hold_the_arm_at_home():
    """Gravity is compensated, as on the real robot: a held pose does not sag."""
    model = build().compile()
    data = mujoco.MjData(model)
    data.qpos[:7] = data.ctrl[:7] = FRANKA_PANDA.home_rad
    for _ in range(1000):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.qpos[:7], FRANKA_PANDA.home_rad, atol=1e-3)
