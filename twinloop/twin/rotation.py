"""Rotations of many bodies at once.

Products are written out: `@` uses another BLAS routine for a batch of one, and the last bit would depend on the width.
"""

import numpy as np

DOWN = np.array([0.0, 0.0, -1.0])


def product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n, 3, 3) products of rotations, each (n, 3, 3) or (3, 3)."""
    return (first[..., :, :, None] * second[..., None, :, :]).sum(axis=-2)


def rotated(axes: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(n, 3) vectors, each (n, 3) or (3,), from the frame of `axes` to the world."""
    return (axes * vectors[..., None, :]).sum(axis=-1)


def inverse_rotated(axes: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(n, 3) vectors from the world to the frame of `axes`."""
    return (axes * vectors[..., :, None]).sum(axis=-2)


def transposed(axes: np.ndarray) -> np.ndarray:
    return axes.swapaxes(-1, -2)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # For arrays this small np.cross mostly checks its arguments.
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def length(vectors: np.ndarray) -> np.ndarray:
    """(n,) lengths of (n, 3) vectors."""
    return np.sqrt(np.square(vectors).sum(axis=-1))


def turn_between(now: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(n, 3) rotation vectors (axis times angle, world frame) that turn `now` into `wanted`."""
    # The sum of the cross products of the axes is 2 sin(angle) times the axis of rotation.
    twice_sine = cross(now.swapaxes(-1, -2), wanted.swapaxes(-1, -2)).sum(axis=-2)
    size = length(twice_sine)
    cosine = ((now * wanted).sum(axis=(-1, -2)) - 1) / 2
    # Copies, because NumPy uses another arctan2 for arrays that are not contiguous.
    angle = np.arctan2((size / 2).copy(), cosine.copy())
    return twice_sine * (angle / np.maximum(size, 1e-9))[..., None]


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


def yaw_of(axes: np.ndarray) -> np.ndarray:
    """(n,) heading of the x axis."""
    return np.arctan2(axes[..., 1, 0].copy(), axes[..., 0, 0].copy())
