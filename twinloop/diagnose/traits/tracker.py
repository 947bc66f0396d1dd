"""Traits of the object tracker: noise, delay, and offset between its frame and the robot's."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.signals.delay import estimate_delay

MAX_DELAY_PERIODS = 12  # control periods
MIN_CARRIED_FRAMES = 8  # frames in which the object is carried
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


def _behind(episode: EpisodeTrace) -> tuple[float, float]:
    """(delay of the carried object behind the tool in control periods, remaining distance in m (RMS))."""
    poses, rows = episode.object, episode.held
    if poses is None or len(rows) < MIN_CARRIED_FRAMES:
        return NAN, NAN
    first, last = int(rows[0]), int(rows[-1]) + 1
    tool, seen = _carrying(episode), poses[first:last, :3]
    most = min(MAX_DELAY_PERIODS, len(seen) // 2)
    delay = estimate_delay([(tool[: len(seen)], seen)], shifts=range(most + 1), fit_gain=False)
    return (NAN, NAN) if delay is None else (delay.rows, delay.rms)


def _carrying(episode: EpisodeTrace) -> np.ndarray:
    first, last = int(episode.held[0]), int(episode.held[-1]) + 1
    if len(episode.held) == last - first:
        return episode.held_tool
    return episode.arm.tool(episode.position[first:last])


def late_ms(episode: EpisodeTrace) -> float:
    return 1000 * episode.arm.period_s * _behind(episode)[0]


def lost_mm(episode: EpisodeTrace) -> float:
    return 1000 * _behind(episode)[1]


def _beside_mm(episode: EpisodeTrace, axis: int) -> float:
    """Offset of the object from the tool along an axis, in slow frames, in which a delay causes no offset."""
    poses, rows = episode.object, episode.held
    if poses is None or len(rows) < 3:
        return NAN
    tool = episode.held_tool
    speed = np.linalg.norm(np.gradient(tool, episode.arm.period_s, axis=0), axis=1)
    slow = speed <= max(STILL_M_S, float(np.quantile(speed, 0.2)))
    return 1000 * float(np.median((poses[rows, axis] - tool[:, axis])[slow]))


def beside_x_mm(episode: EpisodeTrace) -> float:
    return _beside_mm(episode, 0)


def beside_y_mm(episode: EpisodeTrace) -> float:
    return _beside_mm(episode, 1)


def yaw_rad(poses: np.ndarray) -> np.ndarray:
    """(n,) unwrapped yaw of (n, 7) poses."""
    w, x, y, z = poses[:, 3:7].T
    return np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
