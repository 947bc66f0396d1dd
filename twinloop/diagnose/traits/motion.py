"""Traits of how the arm follows its commands."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.signals.delay import estimate_delay

FARTHEST = 9  # largest delay of an arm, in control periods
BEGUN_RAD = 0.006
MOVING_RAD_S = 0.15
REST_RAD = 0.003  # smallest commanded motion per control period
NAN = float("nan")


def _behind(shown: EpisodeTrace) -> tuple[float, float]:
    """Periods that the arm is behind its commands, and the remaining error then (rad, RMS)."""
    told, seen = shown.told[:, :-1], shown.position
    most = min(FARTHEST, len(seen) // 3)
    if most < 2:
        return NAN, NAN
    delay = estimate_delay([(told[: len(seen)], seen)], shifts=range(most + 1), fit_gain=False)
    return (NAN, NAN) if delay is None else (delay.rows, delay.rms)


def following_ms(shown: EpisodeTrace) -> float:
    return 1000 * shown.arm.period_s * _behind(shown)[0]


def uneven_mrad(shown: EpisodeTrace) -> float:
    return 1000 * _behind(shown)[1]


def onset_ms(shown: EpisodeTrace) -> float:
    """Time from the first command to the first motion of the joint with the largest command in the first second."""
    told, seen = shown.told[:, :-1], shown.position
    early = min(len(told), max(round(1.0 / shown.arm.period_s), 2))
    joint = int(np.argmax(np.abs(told[:early] - told[0]).max(axis=0)))
    # Commands are compared with the initial position, because the first command may already differ from it.
    start, goes = seen[0, joint], told[:early, joint] - seen[0, joint]
    goes = np.abs(goes) > BEGUN_RAD
    moved = np.abs(seen[:, joint] - start) > BEGUN_RAD
    if not goes.any() or not moved.any():
        return NAN
    return 1000 * shown.arm.period_s * float(np.argmax(moved) - np.argmax(goes))


def repeated_share(shown: EpisodeTrace) -> float:
    told_moves = np.abs(np.diff(shown.told[:, :-1], axis=0)).max(axis=1) > REST_RAD
    same = (np.diff(shown.position, axis=0) == 0).all(axis=1)
    return float(np.mean(same[told_moves])) if told_moves.sum() > 5 else NAN


def offset_mrad(shown: EpisodeTrace) -> float:
    """Median distance of each joint from its delayed command (absolute value), averaged over joints.

    All frames are used, because an episode may end without the arm ever being at rest.
    """
    behind, _ = _behind(shown)
    if np.isnan(behind):
        return NAN
    then = np.arange(int(np.ceil(behind)), shown.rows)
    before = np.floor(then - behind).astype(int)
    share = (then - behind - before)[:, None]
    told = shown.told[:, :-1]
    told = (1 - share) * told[before] + share * told[np.minimum(before + 1, shown.rows - 1)]
    return 1000 * float(np.abs(np.median(shown.position[then] - told, axis=0)).mean())


def shaking_mrad(shown: EpisodeTrace) -> float:
    """Standard deviation of position noise, from third differences.

    These are √20 times the noise for white noise, and almost 0 for smooth motion.
    """
    if shown.rows < 8:
        return NAN
    return 1000 * float(np.median(np.abs(np.diff(shown.position, n=3, axis=0)))) / (0.6745 * np.sqrt(20))


def effort_noise_nm(shown: EpisodeTrace) -> float:
    effort = shown.effort
    if effort is None or shown.rows < 8:
        return NAN
    return float(np.median(np.abs(np.diff(effort[:, :-1], n=3, axis=0)))) / (0.6745 * np.sqrt(20))


def drag_nm(shown: EpisodeTrace) -> float:
    """Friction torque: half the difference between the torques in positive and negative motion, median over joints."""
    effort = shown.effort
    if effort is None:
        return NAN
    speed = np.gradient(shown.position, shown.arm.period_s, axis=0)
    found = []
    for joint in range(shown.arm.joints):
        up, down = speed[:, joint] > MOVING_RAD_S, speed[:, joint] < -MOVING_RAD_S
        if min(up.sum(), down.sum()) >= 4:
            found.append((np.median(effort[up, joint]) - np.median(effort[down, joint])) / 2)
    return float(np.median(found)) if found else NAN
