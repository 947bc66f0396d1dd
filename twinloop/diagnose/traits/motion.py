"""Traits of how the arm follows its commands."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.signals.delay import estimate_delay

FARTHEST = 9  # largest delay of an arm, in control periods
BEGUN_RAD = 0.006
MOVING_RAD_S = 0.15
REST_RAD = 0.003  # smallest commanded motion per control period
NAN = float("nan")


def _behind(episode: EpisodeTrace) -> tuple[float, float]:
    """Periods that the arm is behind its commands, and the remaining error then (rad, RMS)."""
    commanded, seen = episode.command[:, :-1], episode.position
    most = min(FARTHEST, len(seen) // 3)
    if most < 2:
        return NAN, NAN
    delay = estimate_delay([(commanded[: len(seen)], seen)], shifts=range(most + 1), fit_gain=False)
    return (NAN, NAN) if delay is None else (delay.rows, delay.rms)


def following_ms(episode: EpisodeTrace) -> float:
    return 1000 * episode.arm.period_s * _behind(episode)[0]


def uneven_mrad(episode: EpisodeTrace) -> float:
    return 1000 * _behind(episode)[1]


def onset_ms(episode: EpisodeTrace) -> float:
    """Time from the first command to the first motion of the joint with the largest command in the first second."""
    commanded, seen = episode.command[:, :-1], episode.position
    early = min(len(commanded), max(round(1.0 / episode.arm.period_s), 2))
    joint = int(np.argmax(np.abs(commanded[:early] - commanded[0]).max(axis=0)))
    # Commands are compared with the initial position, because the first command may already differ from it.
    start, goes = seen[0, joint], commanded[:early, joint] - seen[0, joint]
    goes = np.abs(goes) > BEGUN_RAD
    moved = np.abs(seen[:, joint] - start) > BEGUN_RAD
    if not goes.any() or not moved.any():
        return NAN
    return 1000 * episode.arm.period_s * float(np.argmax(moved) - np.argmax(goes))


def repeated_share(episode: EpisodeTrace) -> float:
    commanded_moves = np.abs(np.diff(episode.command[:, :-1], axis=0)).max(axis=1) > REST_RAD
    same = (np.diff(episode.position, axis=0) == 0).all(axis=1)
    return float(np.mean(same[commanded_moves])) if commanded_moves.sum() > 5 else NAN


def offset_mrad(episode: EpisodeTrace) -> float:
    """Median distance of each joint from its delayed command (absolute value), averaged over joints.

    All frames are used, because an episode may end without the arm ever being at rest.
    """
    behind, _ = _behind(episode)
    if np.isnan(behind):
        return NAN
    then = np.arange(int(np.ceil(behind)), episode.rows)
    before = np.floor(then - behind).astype(int)
    share = (then - behind - before)[:, None]
    commanded = episode.command[:, :-1]
    commanded = (1 - share) * commanded[before] + share * commanded[np.minimum(before + 1, episode.rows - 1)]
    return 1000 * float(np.abs(np.median(episode.position[then] - commanded, axis=0)).mean())


def shaking_mrad(episode: EpisodeTrace) -> float:
    """Standard deviation of position noise, from third differences.

    These are √20 times the noise for white noise, and almost 0 for smooth motion.
    """
    if episode.rows < 8:
        return NAN
    return 1000 * float(np.median(np.abs(np.diff(episode.position, n=3, axis=0)))) / (0.6745 * np.sqrt(20))


def effort_noise_nm(episode: EpisodeTrace) -> float:
    effort = episode.effort
    if effort is None or episode.rows < 8:
        return NAN
    return float(np.median(np.abs(np.diff(effort[:, :-1], n=3, axis=0)))) / (0.6745 * np.sqrt(20))


def drag_nm(episode: EpisodeTrace) -> float:
    """Friction torque: half the difference between the torques in positive and negative motion, median over joints."""
    effort = episode.effort
    if effort is None:
        return NAN
    speed = np.gradient(episode.position, episode.arm.period_s, axis=0)
    drags = []
    for joint in range(episode.arm.joints):
        up, down = speed[:, joint] > MOVING_RAD_S, speed[:, joint] < -MOVING_RAD_S
        if min(up.sum(), down.sum()) >= 4:
            drags.append((np.median(effort[up, joint]) - np.median(effort[down, joint])) / 2)
    return float(np.median(drags)) if drags else NAN
