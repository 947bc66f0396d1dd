"""Initial state of a free body: from the first frame of a log, or from the free flight through its first frames.

A logged velocity is a difference of two noisy poses, and in half a second of flight its error becomes centimetres.
Before the body touches anything it falls on a parabola and (with equal moments of inertia) turns evenly. Several frames
of this flight give a far better initial state than one.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.calibrate.bench import Bench

MIN_FRAMES = 4
MAX_DEVIATION = 6.0
"""A frame that is further from the fitted flight than this many times the scatter ends it: the body was touched."""
MIN_SCATTER_M, MIN_SCATTER_RAD = 5e-4, 5e-3  # of the poses of a motion capture system


def begin_of(bench: Bench, measured: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Channel -> its initial value, in the model's units.

    It is the first logged value. For free bodies it is fitted to the flight through the first `begin_frames` frames, if
    the bench file asks for more than one. With one frame, a linear velocity that is logged late (`late_frames`) is
    brought to the time of its stamp.
    """
    begin = {name: _first(rows) for name, rows in measured.items()}
    gravity, period_s = np.array(bench.model.opt.gravity), 1 / bench.logs.rate_hz
    for channel in bench.measured:
        if channel.late_frames:
            begin[channel.name] = begin[channel.name] + channel.late_frames * period_s * gravity
    if bench.logs.begin_frames == 1:
        return begin
    for joint in {channel.joint for channel in bench.measured}:
        names = {channel.of: channel.name for channel in bench.measured if channel.joint == joint}
        if not {"place", "turn"} <= set(names):
            continue
        place, turn = (measured[names[of]][: bench.logs.begin_frames] for of in ("place", "turn"))
        if not (np.isfinite(place).all() and np.isfinite(turn).all()):
            continue
        state = flight(place, turn, period_s=period_s, gravity_m_s2=gravity)
        for of, row in zip(("place", "turn", "linear_velocity", "angular_velocity"), state, strict=True):
            if of in names:
                begin[names[of]] = row
    return begin


def _first(rows: np.ndarray) -> np.ndarray:
    """The first row without NaN; zeros if there is none."""
    whole = np.flatnonzero(np.isfinite(rows).all(axis=1))
    return rows[whole[0]] if len(whole) else np.zeros(rows.shape[1])


def flight(
    place_m: np.ndarray, turn: np.ndarray, *, period_s: float, gravity_m_s2: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The state at the first frame, from as many of these frames as belong to one free flight.

    Args:
        place_m: (n, 3) positions.
        turn: (n, 4) quaternions, w first.

    Returns:
        Position, quaternion, linear velocity in the world, angular velocity in the body.
    """
    count = len(place_m)
    time = np.arange(count) * period_s
    fallen = place_m - 0.5 * np.outer(time**2, gravity_m_s2)
    turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    turned = _turns_from(turn[0], turn)
    used = min(MIN_FRAMES, count)
    while used < count:
        path, spin = _line(time[:used], fallen[:used]), _line(time[:used], turned[:used])
        if _leaves(time, fallen, path, used, MIN_SCATTER_M) or _leaves(time, turned, spin, used, MIN_SCATTER_RAD):
            break
        used += 1
    start, speed = _line(time[:used], fallen[:used])
    first, rate = _line(time[:used], turned[:used])
    quaternion = multiplied(turn[0], _quaternion(first))
    return start, quaternion / np.linalg.norm(quaternion), speed, rate


def _line(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(value at time 0, slope) by least squares, column by column."""
    if len(time) < 2:
        return values[0], np.zeros(values.shape[1])
    line = np.linalg.lstsq(np.stack([np.ones_like(time), time], axis=1), values, rcond=None)[0]
    return line[0], line[1]


def _leaves(time: np.ndarray, values: np.ndarray, line: tuple[np.ndarray, np.ndarray], used: int, least: float) -> bool:
    """Whether the next frame after `used` is too far from the line."""
    off = np.linalg.norm(values[: used + 1] - line[0] - np.outer(time[: used + 1], line[1]), axis=1)
    return bool(off[used] > MAX_DEVIATION * max(float(np.sqrt(np.mean(off[:used] ** 2))), least))


def _turns_from(first: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """(n, 3) rotation vectors in the body's frame from the first quaternion to every other."""
    back = first * np.array([1.0, -1.0, -1.0, -1.0])
    relative = np.stack([multiplied(back, quaternion) for quaternion in quaternions])
    relative *= np.where(relative[:, :1] < 0, -1.0, 1.0)
    size = np.linalg.norm(relative[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(size, relative[:, :1])
    return np.where(size > 1e-12, angle / np.maximum(size, 1e-12), 2.0) * relative[:, 1:]


def _quaternion(vector: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 1e-12 else np.zeros(3)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two quaternions: the rotation by b, then by a."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])
