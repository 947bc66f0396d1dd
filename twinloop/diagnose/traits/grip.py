"""Traits of the grasp: force, width, slip, weight and push."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.twin.objects import OBJECTS

NAN = float("nan")
ENOUGH = 4


def force_n(episode: EpisodeTrace) -> float:
    """Finger force while the object is carried, or while the fingers press on it if it slips out before it rises.

    The object slips out if the gripper is weak or the friction is low. Only the force distinguishes the two.
    """
    effort = episode.effort
    rows = episode.held if len(episode.held) >= ENOUGH else episode.pressing
    if effort is None or len(rows) < ENOUGH:
        return NAN
    return float(np.median(np.abs(effort[rows, episode.arm.joints])))


def width_mm(episode: EpisodeTrace) -> float:
    """Finger opening minus the width of the object, so that the trait does not depend on the kind of object."""
    kind = episode.kind
    if len(episode.held) < ENOUGH or kind not in OBJECTS:
        return NAN
    return 1000 * float(
        np.median(episode.state[episode.held, episode.arm.joints]) - 2 * OBJECTS[kind].half_extents_m[1]
    )


def slip_mm(episode: EpisodeTrace) -> float:
    """Vertical motion of the object relative to the tool, between the beginning and the end of carrying."""
    poses, rows = episode.object, episode.held
    if poses is None or len(rows) < 3 * ENOUGH:
        return NAN
    beside = poses[rows, 2] - episode.held_tool[:, 2]
    return 1000 * abs(float(np.median(beside[-ENOUGH:]) - np.median(beside[ENOUGH : 2 * ENOUGH])))


def weight_n(episode: EpisodeTrace) -> float:
    """Upward force of the arm for the object that it carries (`load.py`)."""
    return episode.load_n


def empty_load_n(episode: EpisodeTrace) -> float:
    """Upward force of the arm before the grasp."""
    forces = episode.outside_force_n
    return NAN if forces is None or len(episode.before) < ENOUGH else float(np.median(forces[episode.before, 2]))


def side_load_n(episode: EpisodeTrace) -> float:
    """Horizontal force of the arm before the grasp."""
    forces = episode.outside_force_n
    if forces is None or len(episode.before) < ENOUGH:
        return NAN
    return float(np.linalg.norm(np.median(forces[episode.before, :2], axis=0)))


def settling_mm(episode: EpisodeTrace) -> float:
    """Change of the finger opening while the object is carried: positive if the fingers close further."""
    rows = episode.held
    if len(rows) < 3 * ENOUGH:
        return NAN
    opening = episode.state[rows, episode.arm.joints]
    return 1000 * float(np.median(opening[:ENOUGH]) - np.median(opening[-2 * ENOUGH : -ENOUGH]))


def lift_slip_mm(episode: EpisodeTrace) -> float:
    """Downward motion of the object in the gripper from the first contact to the beginning of carrying."""
    poses, rows, first = episode.object, episode.held, episode.first_closing
    if poses is None or len(rows) < 2 * ENOUGH or first < ENOUGH:
        return NAN
    still = np.arange(max(first - ENOUGH, 0), first + ENOUGH)
    tool = episode.arm.tool(episode.position[still])
    gripped = np.median(poses[still, 2] - tool[:, 2])
    return 1000 * float(gripped - np.median(poses[rows[:ENOUGH], 2] - episode.held_tool[:ENOUGH, 2]))


def dropped(episode: EpisodeTrace) -> float:
    """Whether the object fell while the gripper was still commanded to close."""
    poses, rows = episode.object, episode.held
    if poses is None or not len(rows):
        return NAN
    last, end = int(rows[-1]), min(episode.first_opening, episode.rows)
    return float(end - last > 2 * ENOUGH)


def clung_mm(episode: EpisodeTrace) -> float:
    """Distance that the object still moves after the gripper has been commanded to open."""
    poses, first = episode.object, episode.first_opening
    if poses is None or first >= episode.rows - ENOUGH:
        return NAN
    return 1000 * float(np.linalg.norm(poses[first:, :2] - poses[first, :2], axis=1).max())


def pushed_mm(episode: EpisodeTrace) -> float:
    """Horizontal motion of the object while the fingers close."""
    poses = episode.object
    first = episode.first_closing
    if poses is None or first >= episode.rows - 2 * ENOUGH or first < ENOUGH:
        return NAN
    before, after = poses[first - ENOUGH : first, :2], poses[first + ENOUGH : first + 2 * ENOUGH, :2]
    return 1000 * float(np.linalg.norm(np.median(after, axis=0) - np.median(before, axis=0)))
