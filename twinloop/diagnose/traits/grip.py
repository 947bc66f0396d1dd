"""Traits of the grasp: force, width, slip, weight and push."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.twin.objects import OBJECTS

NAN = float("nan")
ENOUGH = 4


def force_n(episode: EpisodeTrace) -> float:
    effort = episode.effort
    if effort is None or len(episode.held) < ENOUGH:
        return NAN
    return float(np.median(np.abs(effort[episode.held, -1])))


def width_mm(episode: EpisodeTrace) -> float:
    """Finger opening minus the width of the object, so that the trait does not depend on the kind of object."""
    kind = episode.conditions.get("object", episode.arm.kind)
    if len(episode.held) < ENOUGH or kind not in OBJECTS:
        return NAN
    return 1000 * float(np.median(episode.state[episode.held, -1]) - 2 * OBJECTS[kind].half_extents_m[1])


def slip_mm(episode: EpisodeTrace) -> float:
    """Vertical motion of the object relative to the tool, between the beginning and the end of carrying."""
    poses, rows = episode.object, episode.held
    if poses is None or len(rows) < 3 * ENOUGH:
        return NAN
    beside = poses[rows, 2] - episode.held_tool[:, 2]
    return 1000 * abs(float(np.median(beside[-ENOUGH:]) - np.median(beside[ENOUGH : 2 * ENOUGH])))


def weight_n(episode: EpisodeTrace) -> float:
    """Upward force of the arm while it carries, minus that before the grasp.

    Both use the slowest frames, in which little torque accelerates the arm itself.
    """
    if episode.effort is None or len(episode.held) < 2 * ENOUGH or len(episode.before) < 2 * ENOUGH:
        return NAN
    carried, empty = (_lift_n(episode, rows) for rows in (episode.held, episode.before))
    return carried - empty


def _lift_n(episode: EpisodeTrace, rows: np.ndarray) -> float:
    assert episode.effort is not None
    speed = np.abs(np.gradient(episode.position[rows], axis=0)).max(axis=1)
    slow = rows[np.argsort(speed)[: max(ENOUGH, len(rows) // 5)]]
    return float(np.median([episode.arm.lift_n(episode.position[row], episode.effort[row, :-1]) for row in slow]))


def pushed_mm(episode: EpisodeTrace) -> float:
    """Horizontal motion of the object while the fingers close."""
    poses = episode.object
    first = episode.first_closing
    if poses is None or first >= episode.rows - 2 * ENOUGH or first < ENOUGH:
        return NAN
    before, after = poses[first - ENOUGH : first, :2], poses[first + ENOUGH : first + 2 * ENOUGH, :2]
    return 1000 * float(np.linalg.norm(np.median(after, axis=0) - np.median(before, axis=0)))
