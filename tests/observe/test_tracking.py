"""ObjectTracker: averages a resting object, follows a moved one, and moves a held one with the tool."""

import numpy as np

from twinloop.observe.tracking import ObjectTracker

PERIOD_S = 0.04
THERE = np.array([0.5, -0.1, 0.02, 1.0, 0.0, 0.0, 0.0])
YES, NO = np.ones(1, bool), np.zeros(1, bool)
FIRST = np.zeros(1, int)  # number of the hand


def readings(rng: np.random.Generator, place: np.ndarray = THERE, noise_m: float = 0.005) -> np.ndarray:
    return (place + np.append(noise_m * rng.standard_normal(3), np.zeros(4)))[None]


def lying(ticks: int, place: np.ndarray = THERE) -> tuple[ObjectTracker, np.random.Generator]:
    tracking, rng = ObjectTracker(width=1, period_s=PERIOD_S), np.random.default_rng(0)
    for _ in range(ticks):
        tracking.update_resting(readings(rng, place), YES)
    return tracking, rng


def test_noise_is_averaged_away():
    tracking, _ = lying(50)
    assert np.abs(tracking.pose[0, :3] - THERE[:3]).max() < 0.003


def test_a_moved_object_is_found_again_within_half_a_second():
    tracking, rng = lying(50)
    moved = THERE + np.array([0.03, 0.02, 0, 0, 0, 0, 0])
    for _ in range(12):
        tracking.update_resting(readings(rng, moved), YES)
    assert np.linalg.norm(tracking.pose[0, :3] - moved[:3]) < 0.012


def test_a_quaternion_and_its_negative_are_one():
    tracking, rng = lying(5)
    for sign in (-1, 1, -1):
        tracking.update_resting(readings(rng) * np.append(np.ones(3), np.full(4, sign)), YES)
    np.testing.assert_allclose(tracking.pose[0, 3:], THERE[3:])


def test_a_held_object_moves_with_the_tool_while_the_tracker_is_occluded():
    tracking, rng = lying(30)
    tool = target = THERE[:3].copy()
    for tick in range(40):
        target = tool + np.array([0.0, 0.005, 0.003]) * tick
        tracking.update_held(readings(rng), YES, tool_m=target[None], measured_m=tool[None], still=NO, hand=FIRST)
        tracking.update_resting(readings(rng), NO)
    assert np.linalg.norm(tracking.pose[0, :3] - target) < 0.005


def test_the_height_of_a_resting_object_is_kept_while_it_is_held():
    tracking, rng = lying(30)
    lay_m = tracking.lay_m.copy()
    up = THERE[:3] + np.array([0, 0, 0.2])
    tracking.update_held(readings(rng), YES, tool_m=up[None], measured_m=up[None], still=YES, hand=FIRST)
    np.testing.assert_array_equal(tracking.lay_m, lay_m)
