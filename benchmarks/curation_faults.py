"""Kinds of faults that no curator was trained against. They are used for the figure of `curation.py` alone.

`UNKNOWN` were written with the method, `NEW` after it: nobody tuned a curator to them before their first figure.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from twinloop.curate.discriminator.faults import busy_window, moved_thing, moving_joint, with_rows, with_signal
from twinloop.curate.discriminator.scene_motion import poses_of
from twinloop.curate.discriminator.trajectories import (
    ACTION,
    COMMAND,
    CONTACT,
    EFFORT,
    ENVIRONMENT,
    STATE,
    VELOCITY,
    Trajectories,
)  # fmt: skip

Inject = Callable[[Trajectories, np.random.Generator, int], Trajectories | None]


def _for_a_while(episode: Trajectories, rng: np.random.Generator, rows: int) -> slice:
    """A random span of the episode."""
    start = int(rng.integers(0, max(episode.frames - rows, 1)))
    return slice(start, start + rows)


def _with_factor(
    episode: Trajectories, rng: np.random.Generator, feature: str, factor: float, *, about_start: bool
) -> Trajectories | None:
    """One element that moves is multiplied, as by a sensor with a wrong gain; with `about_start` its changes are."""
    joint = moving_joint(episode, rng, feature)
    if joint is None:
        return None
    values = episode.signals[feature].copy()
    base = values[0, joint] if about_start else 0.0
    values[:, joint] = base + (values[:, joint] - base) * factor
    return with_signal(episode, feature, values)


def _moved_poses(episode: Trajectories, move: Callable[[np.ndarray], np.ndarray]) -> Trajectories | None:
    """All poses with `move` applied to their (frames, 3) positions."""
    poses = poses_of(episode.schema)
    if not poses:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    for pose in poses:
        values[:, pose.position] = move(values[:, pose.position])
    return with_signal(episode, ENVIRONMENT, values)


def gain_error(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """One encoder counts too many or too few steps."""
    return _with_factor(episode, rng, STATE, (1.1, 1.3, 2.0)[size], about_start=True)


def reversed_time(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A part of the episode is played backwards."""
    window = _for_a_while(episode, rng, (12, 30, episode.frames)[size])
    index = np.arange(episode.frames)
    index[window] = index[window][::-1]
    return with_rows(episode, index)


def encoder_wrap(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A joint angle jumps by a whole turn."""
    joint = moving_joint(episode, rng)
    if joint is None:
        return None
    values = episode.signals[STATE].copy()
    values[_for_a_while(episode, rng, (3, 15, episode.frames)[size]), joint] += 2 * np.pi * float(rng.choice([-1, 1]))
    return with_signal(episode, STATE, values)


def crosstalk(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """One sensor reads a share of its neighbour."""
    feature = str(rng.choice([name for name in (STATE, VELOCITY, EFFORT) if name in episode.signals]))
    joint = moving_joint(episode, rng, feature)
    if joint is None:
        return None
    values = episode.signals[feature].copy()
    other = (joint + 1) % (values.shape[1] - 1)
    values[:, other] += (0.1, 0.25, 0.6)[size] * values[:, joint]
    return with_signal(episode, feature, values)


def quantised(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A sensor with far too coarse steps."""
    feature = str(rng.choice([name for name in (STATE, ACTION) if name in episode.signals]))
    values = episode.signals[feature].copy()
    arm = slice(0, values.shape[1] - 1)
    step = np.maximum((0.03, 0.08, 0.2)[size] * np.ptp(values[:, arm], axis=0), 1e-6)
    values[:, arm] = np.round(values[:, arm] / step) * step
    return with_signal(episode, feature, values)


def smoothed(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A filter that was left on: positions are a moving average."""
    del rng
    width = (7, 13, 25)[size]
    values = episode.signals[STATE].copy()
    padded = np.pad(values, ((width // 2, width // 2), (0, 0)), mode="edge")
    sums = np.cumsum(np.vstack([np.zeros((1, values.shape[1])), padded]), axis=0)
    return with_signal(episode, STATE, (sums[width:] - sums[:-width]) / width)


def delayed_object(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The object tracker is late."""
    if moved_thing(episode) is None:
        return None
    frames = (3, 6, 12)[size] * int(rng.choice([-1, 1]))
    rows = np.clip(np.arange(episode.frames) - frames, 0, episode.frames - 1)
    return with_signal(episode, ENVIRONMENT, episode.signals[ENVIRONMENT][rows])


def mirrored_world(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A calibration with a wrong axis: the object's motion is mirrored, in a part or in the whole episode."""
    thing = moved_thing(episode)
    if thing is None:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    axis = thing.position[int(rng.integers(2))]
    begin = int(episode.frames * (0.6, 0.3, 0.0)[size])
    values[begin:, axis] = 2 * values[begin, axis] - values[begin:, axis]
    return with_signal(episode, ENVIRONMENT, values)


def shaking_camera_frame(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """All poses shake together, as if the frame that they are measured in moved."""
    shake = (0.002, 0.006, 0.02)[size] * np.cumsum(rng.normal(size=(episode.frames, 3)), axis=0) / 3
    return _moved_poses(episode, lambda places: places + shake)


def lost_effort(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """A torque sensor reads nothing for a while."""
    if EFFORT not in episode.signals:
        return None
    values = episode.signals[EFFORT].copy()
    joint = int(np.abs(values[:, :-1]).mean(axis=0).argmax())
    window = _for_a_while(episode, rng, (8, 25, episode.frames)[size])
    values[window, joint if size < 2 else slice(None)] = 0.0
    return with_signal(episode, EFFORT, values)


def foreign_actions(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """Actions of another speed: the log of the policy ran on a faster or slower clock."""
    factor = (1.05, 1.15, 1.4)[size]
    del rng
    rows = np.clip((np.arange(episode.frames) * factor).astype(int), 0, episode.frames - 1)
    names = [name for name in (ACTION, COMMAND) if name in episode.signals]
    return replace(episode, signals={**episode.signals, **{name: episode.signals[name][rows] for name in names}})


def sticky_gripper(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The gripper's reading does not follow: it stays at its first value, or is inverted."""
    values = episode.signals[STATE].copy()
    hand = values[:, -1]
    if np.ptp(hand) < 1e-6:
        return None
    if size == 2:
        values[:, -1] = hand.max() + hand.min() - hand
    else:
        start = int(np.abs(np.diff(hand)).argmax())
        values[max(start - 2, 0) : start + (10, 30)[size], -1] = hand[max(start - 2, 0)]
    del rng
    return with_signal(episode, STATE, values)


def levitation(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """An untouched object rises slowly and sinks again."""
    thing = moved_thing(episode)
    if thing is None or CONTACT not in episode.signals:
        return None
    values = episode.signals[ENVIRONMENT].copy()
    rows = min(25, episode.frames - 2)
    start = int(rng.integers(0, max(episode.frames // 4, 1)))
    values[start : start + rows, thing.position[2]] += (0.01, 0.03, 0.1)[size] * np.sin(np.linspace(0, np.pi, rows))
    return with_signal(episode, ENVIRONMENT, values)


def rotated_frame(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """The tracker's frame is turned about the vertical axis of the robot's base."""
    angle = np.deg2rad((5, 15, 45)[size]) * float(rng.choice([-1, 1]))
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    return _moved_poses(episode, lambda places: places @ turn.T)


def scaled_world(episode: Trajectories, rng: np.random.Generator, size: int) -> Trajectories | None:
    """Positions of the tracker have a wrong scale."""
    factor = (1.05, 1.2, 2.0)[size] ** float(rng.choice([-1, 1]))
    return _moved_poses(episode, lambda places: places * factor)


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
    factor = (1.3, 1.7, 3.0)[size] ** float(rng.choice([-1, 1]))
    return _with_factor(episode, rng, EFFORT, factor, about_start=False)


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


UNKNOWN: Mapping[str, Inject] = {
    inject.__name__: inject
    for inject in (
        gain_error, reversed_time, encoder_wrap, crosstalk, quantised, smoothed, delayed_object, mirrored_world,
        shaking_camera_frame, lost_effort, foreign_actions, sticky_gripper, levitation,
    )
}  # fmt: skip
NEW: Mapping[str, Inject] = {
    inject.__name__: inject
    for inject in (
        rotated_frame, scaled_world, stale_tracker, turned_object, unsteady_clock, silent_support, scaled_effort,
        lost_gripper_command,
    )
}  # fmt: skip
