"""Traits of how the arm follows its commands."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace

BEGUN_RAD = 0.006
MOVING_RAD_S = 0.15
REST_RAD = 0.003  # smallest commanded motion per control period
NAN = float("nan")


def following_ms(episode: EpisodeTrace) -> float:
    return 1000 * episode.arm.period_s * episode.arm_delay[0]


def uneven_mrad(episode: EpisodeTrace) -> float:
    return 1000 * episode.arm_delay[1]


def onset_ms(episode: EpisodeTrace) -> float:
    """Time from the first command to the first motion of the joint with the largest command in the first second."""
    commanded, seen = episode.command[:, : episode.arm.joints], episode.position
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
    commanded_moves = np.abs(np.diff(episode.command[:, : episode.arm.joints], axis=0)).max(axis=1) > REST_RAD
    same = (np.diff(episode.position, axis=0) == 0).all(axis=1)
    return float(np.mean(same[commanded_moves])) if commanded_moves.sum() > 5 else NAN


def _approach_error(episode: EpisodeTrace) -> np.ndarray | None:
    """(m, joints) distance of each joint from its delayed command on the approach."""
    error = episode.tracking_error
    return None if error is None else error[: max(episode.approach - (episode.rows - len(error)), 1)]


def offset_mrad(episode: EpisodeTrace) -> float:
    """Median distance of each joint from its delayed command (absolute value), averaged over joints.

    All frames are used, because an episode may end without the arm ever being at rest.
    """
    error = _approach_error(episode)
    return NAN if error is None else 1000 * float(np.abs(np.median(error, axis=0)).mean())


def worst_offset_mrad(episode: EpisodeTrace) -> float:
    """The largest steady offset of a single joint."""
    error = _approach_error(episode)
    return NAN if error is None else 1000 * float(np.abs(np.median(error, axis=0)).max())


def lapse(episode: EpisodeTrace) -> float:
    """The worst moment of tracking: largest error of the arm as a multiple of its RMS error."""
    error = episode.tracking_error
    if error is None or len(error) < 8:
        return NAN
    size = np.linalg.norm(error - np.median(error, axis=0), axis=1)
    return float(size.max() / max(np.sqrt(np.mean(np.square(size))), 1e-9))


def worst_joint(episode: EpisodeTrace) -> float:
    """How unevenly joints track: the largest tracking error of a joint as a multiple of the median joint's."""
    error = _approach_error(episode)
    if error is None or len(error) < 8:
        return NAN
    spread = (error - np.median(error, axis=0)).std(axis=0)
    return float(spread.max() / max(np.median(spread), 1e-9))


def softness_mrad_nm(episode: EpisodeTrace) -> float:
    """Tracking error per torque: the inverse gain of the position loop, from a regression with a term for speed.

    A servo's torque is gain × error - damping × speed, whatever the delay. So this trait tells a soft servo from a late
    one. The torque of a frame is that for the command of the frame before: a command is sent after the frame is read.
    """
    effort, rows = episode.effort, episode.approach
    if effort is None or rows < 12:
        return NAN
    effort, position = effort[:rows], episode.position[:rows]
    speed = np.gradient(position, episode.arm.period_s, axis=0)
    command = episode.command[:, : episode.arm.joints]
    error = np.concatenate([command[:1], command[: rows - 1]]) - position
    slopes = []
    for joint in range(episode.arm.joints):
        columns = np.column_stack([effort[:, joint], speed[:, joint], np.ones(rows)])
        if effort[:, joint].std() < 1e-6:
            continue
        slope, *_ = np.linalg.lstsq(columns, error[:, joint], rcond=None)
        slopes.append(slope[0])
    return 1000 * float(np.median(slopes)) if slopes else NAN


def stalled_share(episode: EpisodeTrace) -> float:
    """Share of frames in which a joint stands still although its command moves."""
    paths = episode.command[: episode.approach, : episode.arm.joints], episode.position[: episode.approach]
    commanded, moved = (np.abs(np.diff(values, axis=0)) for values in paths)
    behind, _ = episode.arm_delay
    shift = 0 if np.isnan(behind) else round(behind)
    commanded = commanded[: max(len(commanded) - shift, 0)]
    moved = moved[shift:]
    active = commanded > REST_RAD
    return float(np.mean(moved[active] < 0.1 * commanded[active])) if active.sum() > 5 else NAN


def torque_nm(episode: EpisodeTrace) -> float:
    """RMS of the torques of the arm on the approach."""
    effort = episode.effort
    return (
        NAN if effort is None else float(np.sqrt(np.mean(np.square(effort[: episode.approach, : episode.arm.joints]))))
    )


def shaking_mrad(episode: EpisodeTrace) -> float:
    """Standard deviation of position noise, from third differences.

    These are √20 times the noise for white noise, and almost 0 for smooth motion.
    """
    if episode.rows < 8:
        return NAN
    third = np.diff(episode.position[: episode.approach], n=3, axis=0)
    return 1000 * float(np.median(np.abs(third))) / (0.6745 * np.sqrt(20))


def effort_noise_nm(episode: EpisodeTrace) -> float:
    effort = episode.effort
    if effort is None or episode.rows < 8:
        return NAN
    return float(np.median(np.abs(np.diff(effort[: episode.approach, : episode.arm.joints], n=3, axis=0)))) / (
        0.6745 * np.sqrt(20)
    )


def drag_nm(episode: EpisodeTrace) -> float:
    """Friction torque: half the difference between the torques in positive and negative motion, median over joints."""
    effort = episode.effort
    if effort is None:
        return NAN
    effort, position = effort[: episode.approach], episode.position[: episode.approach]
    speed = np.gradient(position, episode.arm.period_s, axis=0)
    drags = []
    for joint in range(episode.arm.joints):
        up, down = speed[:, joint] > MOVING_RAD_S, speed[:, joint] < -MOVING_RAD_S
        if min(up.sum(), down.sum()) >= 4:
            drags.append((np.median(effort[up, joint]) - np.median(effort[down, joint])) / 2)
    return float(np.median(drags)) if drags else NAN
