"""Traits of the grasp: force, width, slip, weight and push."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.twin.objects import OBJECTS

NAN = float("nan")
ENOUGH = 4


def force_n(shown: EpisodeTrace) -> float:
    effort = shown.effort
    if effort is None or len(shown.held) < ENOUGH:
        return NAN
    return float(np.median(np.abs(effort[shown.held, -1])))


def width_mm(shown: EpisodeTrace) -> float:
    """Finger opening minus the width of the object, so that the trait does not depend on the kind of object."""
    kind = shown.conditions.get("object", shown.arm.kind)
    if len(shown.held) < ENOUGH or kind not in OBJECTS:
        return NAN
    return 1000 * float(np.median(shown.state[shown.held, -1]) - 2 * OBJECTS[kind].half_extents_m[1])


def slip_mm(shown: EpisodeTrace) -> float:
    """Vertical motion of the object relative to the tool, between the beginning and the end of carrying."""
    poses, rows = shown.object, shown.held
    if poses is None or len(rows) < 3 * ENOUGH:
        return NAN
    beside = poses[rows, 2] - shown.held_tool[:, 2]
    return 1000 * abs(float(np.median(beside[-ENOUGH:]) - np.median(beside[ENOUGH : 2 * ENOUGH])))


def weight_n(shown: EpisodeTrace) -> float:
    """Upward force of the arm while it carries, minus that before the grasp.

    Both use the slowest frames, in which little torque accelerates the arm itself.
    """
    if shown.effort is None or len(shown.held) < 2 * ENOUGH or len(shown.before) < 2 * ENOUGH:
        return NAN
    carried, empty = (_lift_n(shown, rows) for rows in (shown.held, shown.before))
    return carried - empty


def _lift_n(shown: EpisodeTrace, rows: np.ndarray) -> float:
    assert shown.effort is not None
    speed = np.abs(np.gradient(shown.position[rows], axis=0)).max(axis=1)
    slow = rows[np.argsort(speed)[: max(ENOUGH, len(rows) // 5)]]
    return float(np.median([shown.arm.lift_n(shown.position[row], shown.effort[row, :-1]) for row in slow]))


def pushed_mm(shown: EpisodeTrace) -> float:
    """Horizontal motion of the object while the fingers close."""
    poses = shown.object
    first = shown.first_closing
    if poses is None or first >= shown.rows - 2 * ENOUGH or first < ENOUGH:
        return NAN
    before, after = poses[first - ENOUGH : first, :2], poses[first + ENOUGH : first + 2 * ENOUGH, :2]
    return 1000 * float(np.linalg.norm(np.median(after, axis=0) - np.median(before, axis=0)))
