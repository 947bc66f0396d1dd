"""Rotations of many bodies at once.

Products are written out, one element of all bodies after the other. `@` uses another BLAS routine for a batch of one,
so that the last bit would depend on the width. Sums and broadcasts over three elements take NumPy twice as long.
"""

import numpy as np

DOWN = np.array([0.0, 0.0, -1.0])


def product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n, 3, 3) products of rotations, each (n, 3, 3) or (3, 3)."""
    a, b = (_elements(axes).reshape(3, 3, -1) for axes in (first, second))
    out = a[:, 0, None] * b[0]
    out += a[:, 1, None] * b[1]
    out += a[:, 2, None] * b[2]
    return np.ascontiguousarray(out.reshape(9, -1).T).reshape(np.broadcast_shapes(first.shape, second.shape))


def _elements(axes: np.ndarray) -> np.ndarray:
    """(9, n) elements of (n, 3, 3) rotations row by row, contiguous for each element; n = 1 for one rotation."""
    return np.ascontiguousarray(axes.reshape(-1, 9).T)


def rotated(axes: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(n, 3) vectors, each (n, 3) or (3,), from the frame of `axes` to the world."""
    out = axes[..., 0] * vectors[..., 0, None]
    out += axes[..., 1] * vectors[..., 1, None]
    out += axes[..., 2] * vectors[..., 2, None]
    return out


def inverse_rotated(axes: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(n, 3) vectors from the world to the frame of `axes`."""
    return rotated(transposed(axes), vectors)


def transposed(axes: np.ndarray) -> np.ndarray:
    return axes.swapaxes(-1, -2)


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n,) products of (n, 3) vectors."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = ay * bz - az * by
    out[..., 1] = az * bx - ax * bz
    out[..., 2] = ax * by - ay * bx
    return out


def length(vectors: np.ndarray) -> np.ndarray:
    """(n,) lengths of (n, 3) vectors."""
    return np.sqrt(dot(vectors, vectors))


def turn_between(now: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(n, 3) rotation vectors (axis times angle, world frame) that turn (n, 3, 3) axes into (n, 3, 3) wanted ones."""
    a, b = _elements(now), _elements(wanted)
    # The sum of the cross products of the axes is 2 sin(angle) times the axis of rotation.
    x, y, z = (
        sum_of_three(a[i : i + 3] * b[j : j + 3] - a[j : j + 3] * b[i : i + 3]) for i, j in ((3, 6), (6, 0), (0, 3))
    )
    size = np.sqrt(x * x + y * y + z * z)
    p = a * b
    trace = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])) + p[8]
    angle = np.arctan2(size / 2, (trace - 1) / 2)
    scale = angle / np.maximum(size, 1e-9)
    out = np.empty((len(size), 3))
    out[:, 0], out[:, 1], out[:, 2] = x * scale, y * scale, z * scale
    return out


def sum_of_three(rows: np.ndarray) -> np.ndarray:
    """(n,) sum of (3, n) rows in order."""
    return rows[0] + rows[1] + rows[2]


def about_z(yaw: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotations about the world's z axis."""
    cosine, sine, zero, one = np.cos(yaw), np.sin(yaw), np.zeros_like(yaw), np.ones_like(yaw)
    rows = [[cosine, -sine, zero], [sine, cosine, zero], [zero, zero, one]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def about(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotations about (n, 3) or (3,) unit axes."""
    axis = np.broadcast_to(axis, (*angle.shape, 3))
    cosine, sine = np.cos(angle)[..., None, None], np.sin(angle)[..., None, None]
    x, y, z = axis[..., 0], axis[..., 1], axis[..., 2]
    zero = np.zeros_like(x)
    skew = np.stack([np.stack(row, axis=-1) for row in ([zero, -z, y], [z, zero, -x], [-y, x, zero])], axis=-2)
    return cosine * np.eye(3) + sine * skew + (1 - cosine) * axis[..., :, None] * axis[..., None, :]


def pointing_down(yaw: np.ndarray) -> np.ndarray:
    """(n, 3, 3) axes of a tool that points straight down with its x axis at this yaw."""
    cosine, sine, zero = np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)
    rows = [[cosine, sine, zero], [sine, -cosine, zero], [zero, zero, zero - 1]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def nearer_half_turn(axes: np.ndarray, tool_axes: np.ndarray) -> np.ndarray:
    """(n, 3, 3) axes, or the same after half a turn about their z axis, whichever is nearer to the tool's."""
    alike = (axes[..., :2] * tool_axes[..., :2]).sum(axis=(-1, -2))
    return axes * np.where(alike[..., None, None] < 0, np.array([-1.0, -1.0, 1.0]), 1.0)


def yaw_of(axes: np.ndarray) -> np.ndarray:
    """(n,) heading of the x axis."""
    return np.arctan2(axes[..., 1, 0].copy(), axes[..., 0, 0].copy())
