"""Traits of the object tracker: noise, delay, and offset between its frame and the robot's."""

import numpy as np

from twinloop.diagnose.traits.episode import MIN_CARRIED_FRAMES, EpisodeTrace

STILL_M_S = 0.05
NAN = float("nan")


def noise_mm(episode: EpisodeTrace) -> float:
    poses = episode.object
    if poses is None or len(episode.before) < 6:
        return NAN
    steps = np.diff(poses[episode.before, :2], n=2, axis=0)
    return 1000 * float(np.median(np.abs(steps))) / (0.6745 * np.sqrt(6))


def turn_noise_deg(episode: EpisodeTrace) -> float:
    poses = episode.object
    if poses is None or len(episode.before) < 6:
        return NAN
    steps = np.diff(yaw_rad(poses[episode.before]), n=2)
    return float(np.rad2deg(np.median(np.abs(steps)))) / (0.6745 * np.sqrt(6))


def late_ms(episode: EpisodeTrace) -> float:
    return 1000 * episode.arm.period_s * episode.tracker_delay[0]


def lost_mm(episode: EpisodeTrace) -> float:
    return 1000 * episode.tracker_delay[1]


def _beside_mm(episode: EpisodeTrace, axis: int) -> float:
    """Offset of the object from the tool along an axis, in slow frames, in which a delay causes no offset."""
    poses, rows = episode.object, episode.held
    if poses is None or len(rows) < 3:
        return NAN
    tool = episode.held_tool
    speed = np.linalg.norm(np.gradient(tool, episode.arm.period_s, axis=0), axis=1)
    slow = speed <= max(STILL_M_S, float(np.quantile(speed, 0.2)))
    return 1000 * float(np.median((poses[rows, axis] - tool[:, axis])[slow]))


def jump_mm(episode: EpisodeTrace) -> float:
    """The largest motion of a tracked thing within one control period."""
    places = episode.all_things
    if places is None or episode.rows < 3:
        return NAN
    return 1000 * float(np.linalg.norm(np.diff(places, axis=0), axis=2).max())


def frozen_share(episode: EpisodeTrace) -> float:
    """Share of frames in which the tracked pose of the carried object repeats the one before."""
    poses, rows = episode.object, episode.held
    if poses is None or len(rows) < MIN_CARRIED_FRAMES:
        return NAN
    return float((np.diff(poses[rows, :3], axis=0) == 0).all(axis=1).mean())


def beside_x_mm(episode: EpisodeTrace) -> float:
    return _beside_mm(episode, 0)


def beside_y_mm(episode: EpisodeTrace) -> float:
    return _beside_mm(episode, 1)


def yaw_rad(poses: np.ndarray) -> np.ndarray:
    """(n,) unwrapped yaw of (n, 7) poses."""
    w, x, y, z = poses[:, 3:7].T
    return np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
