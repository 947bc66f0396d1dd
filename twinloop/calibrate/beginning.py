"""How a thing that nobody drives begins: the free flight through the first frames of a log.

A logged velocity is a difference of two noisy poses; half a second of flight makes centimetres of its error. Before it
touches anything, a thing falls on a parabola and (if it is as heavy about one axis as about another) turns evenly, so
several frames tell where it is, where it goes and how it turns far better than one.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.calibrate.bench import Bench

FEWEST = 4
NOISE = 6.0
"""A frame that is further off the flight so far than so many times its scatter is not of it: something was touched."""
LEAST_M, LEAST_RAD = 5e-4, 5e-3  # of scatter: poses of a motion capture are no better


def begin_of(bench: Bench, measured: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Channel -> how it begins, in the model's units: as first logged, or, where the bench says `begin_frames`, of the
    flight through so many frames."""
    begin = {name: _first(rows) for name, rows in measured.items()}
    if bench.logs.begin_frames == 1:
        return begin
    for joint in {channel.joint for channel in bench.measured}:
        of = {channel.of: channel.name for channel in bench.measured if channel.joint == joint}
        if not {"place", "turn"} <= set(of):
            continue
        place, turn = (measured[of[kind]][: bench.logs.begin_frames] for kind in ("place", "turn"))
        if not (np.isfinite(place).all() and np.isfinite(turn).all()):
            continue
        gravity = np.array(bench.model.opt.gravity)
        found = flight(place, turn, period_s=1 / bench.logs.rate_hz, gravity_m_s2=gravity)
        for kind, row in zip(("place", "turn", "linear_velocity", "angular_velocity"), found, strict=True):
            if kind in of:
                begin[of[kind]] = row
    return begin


def _first(rows: np.ndarray) -> np.ndarray:
    whole = np.flatnonzero(np.isfinite(rows).all(axis=1))
    return rows[whole[0]] if len(whole) else np.zeros(rows.shape[1])


def flight(
    place_m: np.ndarray, turn: np.ndarray, *, period_s: float, gravity_m_s2: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(place, quaternion, linear velocity in the world, angular velocity in the body) at the first frame, from as many
    of these frames as are of one flight. place_m: (n, 3), turn: (n, 4) quaternions, w first."""
    most = len(place_m)
    time = np.arange(most) * period_s
    fallen = place_m - 0.5 * np.outer(time**2, gravity_m_s2)
    turn = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    turned = _turns_from(turn[0], turn)
    used = min(FEWEST, most)
    while used < most:
        there, also = _line(time[:used], fallen[:used]), _line(time[:used], turned[:used])
        if _leaves(time, fallen, there, used, LEAST_M) or _leaves(time, turned, also, used, LEAST_RAD):
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
    found = np.linalg.lstsq(np.stack([np.ones_like(time), time], axis=1), values, rcond=None)[0]
    return found[0], found[1]


def _leaves(time: np.ndarray, values: np.ndarray, line: tuple[np.ndarray, np.ndarray], used: int, least: float) -> bool:
    off = np.linalg.norm(values[: used + 1] - line[0] - np.outer(time[: used + 1], line[1]), axis=1)
    return bool(off[used] > NOISE * max(float(np.sqrt(np.mean(off[:used] ** 2))), least))


def _turns_from(first: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """(n, 3) rotation vectors in the body's frame that lead from the first quaternion to each."""
    back = first * np.array([1.0, -1.0, -1.0, -1.0])
    relative = np.stack([multiplied(back, each) for each in quaternions])
    relative *= np.where(relative[:, :1] < 0, -1.0, 1.0)
    size = np.linalg.norm(relative[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(size, relative[:, :1])
    return np.where(size > 1e-12, angle / np.maximum(size, 1e-12), 2.0) * relative[:, 1:]


def _quaternion(vector: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 1e-12 else np.zeros(3)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quaternion of turning by b, then by a."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])
