"""Moments: times of a camera's images, and the interpolated state at these times.

Times are in control periods of the episode and may be fractional. The tape has one row per period. Between two rows
positions are interpolated linearly and orientations at a constant rate, so that a held object stays in the hand. At 25
rows per second the error of a joint that accelerates by 5 rad/s² is at most a thousandth of a radian.
"""

import numpy as np

QUATERNIONS = (slice(3, 7), slice(10, 14))
"""Columns of the quaternions of object and goal in the tape's channel `environment`."""


def picture_ticks(length: int, *, control_hz: float, rate_hz: float) -> np.ndarray:
    """(f,) times k / rate_hz of an episode, up to its last row; a later image would belong to no row."""
    ticks = np.arange(int(length * rate_hz / control_hz) + 2) * (control_hz / rate_hz)
    # A time that coincides with a row gets exactly that row.
    whole = np.round(ticks)
    ticks = np.where(np.abs(ticks - whole) < 1e-6, whole, ticks)
    return ticks[ticks <= length - 1]


def shown_in(ticks: np.ndarray, length: int) -> np.ndarray:
    """(length,) index of the image that each row shows: the last one taken by then."""
    return np.searchsorted(ticks, np.arange(length), side="right") - 1


def states_at(position: np.ndarray, environment: np.ndarray, ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, joints) positions and (n, 14) environment at (n,) times, interpolated from the rows of an episode."""
    before = np.floor(ticks).astype(np.int64)
    joints, places = position[before].astype(np.float64), environment[before].astype(np.float64)
    # Times on a row keep the tape's values, independent of other cameras.
    rows = np.flatnonzero(ticks > before)
    after, share = np.minimum(before[rows] + 1, len(position) - 1), (ticks - before)[rows, None]
    joints[rows] += (position[after] - joints[rows]) * share
    moved = places[rows] + (environment[after] - places[rows]) * share
    for part in QUATERNIONS:
        moved[:, part] = turned(places[rows, part], environment[after, part], share)
    places[rows] = moved
    return joints, places


def turned(start: np.ndarray, end: np.ndarray, share: np.ndarray) -> np.ndarray:
    """(n, 4) unit quaternions between start and end, by spherical interpolation; `share` is (n, 1)."""
    cosine = (start * end).sum(axis=1, keepdims=True)
    end, cosine = np.where(cosine < 0, -end, end), np.minimum(np.abs(cosine), 1.0)
    angle = np.arccos(cosine)
    # Nearly equal quaternions define no plane of rotation; linear interpolation gives the same result there.
    near = angle < 1e-6
    sine = np.where(near, 1.0, np.sin(angle))
    ahead = np.where(near, share, np.sin(share * angle) / sine)
    behind = np.where(near, 1 - share, np.sin((1 - share) * angle) / sine)
    out = behind * start + ahead * end
    return out / np.sqrt(np.square(out).sum(axis=1, keepdims=True))
