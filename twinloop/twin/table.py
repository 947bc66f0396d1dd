"""The table's surface. Height and tilt are drawn; the pivot of the tilt is in the middle of the workspace."""

from collections.abc import Mapping

import numpy as np

PIVOT_M = np.array([0.45, 0.0, 0.0])
LOWEST_XY_M, HIGHEST_XY_M = np.array([0.25, -0.5]), np.array([0.75, 0.5])  # where things may stand
PARKED_M = -2.0  # below the floor, for things that an episode does not have


def tilt_quats(tilt_deg: np.ndarray) -> np.ndarray:
    """(n, 4) quaternions of (n, 2) tilts: about the world's x axis after the y axis."""
    x, y = np.deg2rad(tilt_deg / 2).T
    return np.column_stack([np.cos(x) * np.cos(y), np.sin(x) * np.cos(y), np.cos(x) * np.sin(y), np.sin(x) * np.sin(y)])


def normals(quats: np.ndarray) -> np.ndarray:
    """(n, 3) direction of the rotated z axis."""
    w, x, y, z = quats.T
    return np.column_stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def origin_shift_m(quats: np.ndarray) -> np.ndarray:
    """(n, 3) displacement of the table's origin when it is tilted about the pivot."""
    w, x, y, z = quats.T
    forward = np.column_stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    return PIVOT_M - PIVOT_M[0] * forward


def surface_m(draw: Mapping[str, np.ndarray], xy: np.ndarray) -> np.ndarray:
    """(n,) height of the surface at (n, 2) places."""
    return draw["table_height_cm"] / 100 + _rise_m(normals(_quats(draw)), xy)


def laid(draw: Mapping[str, np.ndarray], poses: np.ndarray) -> np.ndarray:
    """(n, 7) poses on the tilted table from poses on a level one. For a level table they are unchanged, bit for bit."""
    quats = _quats(draw)
    tilted = (quats[:, 1] != 0) | (quats[:, 2] != 0)
    if not tilted.any():
        return poses
    normal = normals(quats)
    out = poses.copy()
    above = poses[:, 2] - draw["table_height_cm"] / 100
    out[:, 2] += _rise_m(normal, poses[:, :2]) + above * (1 / normal[:, 2] - 1)
    out[:, 3:] = _product(quats, poses[:, 3:])
    return np.where(tilted[:, None], out, poses)


def _quats(draw: Mapping[str, np.ndarray]) -> np.ndarray:
    return tilt_quats(np.column_stack([draw["table_tilt_deg.x"], draw["table_tilt_deg.y"]]))


def _rise_m(normal: np.ndarray, xy: np.ndarray) -> np.ndarray:
    offset = xy - PIVOT_M[:2]
    return -(normal[:, 0] * offset[:, 0] + normal[:, 1] * offset[:, 1]) / normal[:, 2]


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    a, b, c, d = first.T
    w, x, y, z = second.T
    return np.column_stack([
        a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w,
    ])  # fmt: skip
