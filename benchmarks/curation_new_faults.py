"""Kinds of faults that were written after the method was fixed. Nobody tuned a curator to them."""

from collections.abc import Mapping

import numpy as np
from curation_faults import Inject

from twinloop.curate.discriminator.faults import busy_window, moved_thing, moving_joint, with_rows, with_signal
from twinloop.curate.discriminator.scene_motion import poses_of
from twinloop.curate.discriminator.trajectories import (
    ACTION,
    COMMAND,
    CONTACT,
    EFFORT,
    ENVIRONMENT,
    STATE,
    Trajectories,
)  # fmt: skip


def rotated_frame(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The tracker's frame is turned about the vertical axis of the robot's base."""
    poses = poses_of(episode.schema)
    if not poses:
        return None
    angle = np.deg2rad((5, 15, 45)[size]) * float(rng.choice([-1, 1]))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    values = episode.signals[ENVIRONMENT].copy()
    for pose in poses:
        values[:, pose.position[:2]] = values[:, pose.position[:2]] @ turn.T
    return with_signal(episode, ENVIRONMENT, values)


def scaled_world(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """Positions of the tracker have a wrong scale."""
    poses = poses_of(episode.schema)
    if not poses:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    for pose in poses:
        values[:, pose.position] *= (1.05, 1.2, 2.0)[size] ** float(rng.choice([-1, 1]))
    return with_signal(episode, ENVIRONMENT, values)


def stale_tracker(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The tracker loses the moving object for a while and repeats its last pose."""
    thing = moved_thing(episode)
    if thing is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    window = busy_window(episode, rng, ENVIRONMENT, thing.position[0], (4, 8, 20)[size])
    values[window] = values[window.start]
    return with_signal(episode, ENVIRONMENT, values)


def turned_object(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The object's orientation jumps."""
    thing = moved_thing(episode)
    if thing is None or thing.quaternion is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    start = int(rng.integers(5, episode.frames - 5))
    half = np.deg2rad((10, 30, 90)[size]) / 2
    w, x, y, z = values[start:, thing.quaternion].T
    c, s = np.cos(half), np.sin(half)  # about the vertical axis of the world
    values[start:, thing.quaternion] = np.stack([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w], axis=1)
    return with_signal(episode, ENVIRONMENT, values)


def unsteady_clock(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The recorder skips and repeats frames at random."""
    rows = (10, 25, 60)[size]
    joint = moving_joint(episode, rng)
    if joint is None:
        return None
    window = busy_window(episode, rng, STATE, joint, rows)
    index = np.arange(episode.frames)
    shift = np.cumsum(rng.choice([-1, 0, 1], window.stop - window.start))
    index[window] = np.clip(index[window] + shift, 0, episode.frames - 1)
    return with_rows(episode, index)


def silent_support(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The sensor of the support force reads zero for a while."""
    if CONTACT not in episode.signals:
        return None
    values = episode.signals[CONTACT].copy()
    loaded = np.flatnonzero(values[:, -1] > 0)
    rows = (8, 20, episode.frames)[size]
    if not len(loaded):
        return None
    start = int(rng.choice(loaded[: max(1, len(loaded) - rows)]))
    values[start : start + rows, -1] = 0.0
    return with_signal(episode, CONTACT, values)


def scaled_effort(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """One torque sensor has a wrong gain."""
    if EFFORT not in episode.signals:
        return None
    joint = moving_joint(episode, rng, EFFORT)
    if joint is None:
        return None
    values = episode.signals[EFFORT].copy()
    values[:, joint] *= (1.3, 1.7, 3.0)[size] ** float(rng.choice([-1, 1]))
    return with_signal(episode, EFFORT, values)


def lost_gripper_command(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The command of the gripper is recorded as its first value, for the first part of the closing or for ever."""
    del rng
    names = [name for name in (ACTION, COMMAND) if name in episode.signals]
    hand = episode.signals[names[0]][:, -1]
    if not names or np.ptp(hand) < 1e-6:
        return None
    start = int(np.flatnonzero(np.abs(np.diff(hand)) > 1e-6)[0])
    for name in names:
        values = episode.signals[name].copy()
        values[start : start + (8, 20, episode.frames)[size], -1] = hand[0]
        episode = with_signal(episode, name, values)
    return episode


NEW: Mapping[str, Inject] = {
    inject.__name__: inject
    for inject in (
        rotated_frame, scaled_world, stale_tracker, turned_object, unsteady_clock, silent_support, scaled_effort,
        lost_gripper_command,
    )
}  # fmt: skip
