"""Small linear algebra for many scenes at once, with the batch as the last axis.

NumPy's inner loops then run over scenes and not over 3, 6 or 7 elements. Sums are written out in order and there is no
BLAS or LAPACK, so a result does not depend on the number of scenes.
"""

import numpy as np


def weighted_sum(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(rows, n) sums over k of (rows, k, n) columns times (k, n) weights."""
    total = columns[:, 0] * weights[0]
    for number in range(1, len(weights)):
        total += columns[:, number] * weights[number]
    return total


def gram(rows: np.ndarray) -> np.ndarray:
    """(rows, rows, n) products of (rows, k, n) matrices with their transposes."""
    total = rows[:, None, 0] * rows[None, :, 0]
    for number in range(1, rows.shape[1]):
        total += rows[:, None, number] * rows[None, :, number]
    return total


def solve_positive(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(k, n) solutions of (k, k, n) symmetric positive definite systems with (k, n) right sides. Both are overwritten.

    Gaussian elimination, which needs no pivots for such matrices.
    """
    size = len(right)
    for pivot in range(size - 1):
        factor = matrix[pivot + 1 :, pivot] / matrix[pivot, pivot]
        matrix[pivot + 1 :, pivot + 1 :] -= factor[:, None] * matrix[pivot, pivot + 1 :]
        right[pivot + 1 :] -= factor * right[pivot]
    for pivot in range(size - 1, -1, -1):
        for later in range(pivot + 1, size):
            right[pivot] -= matrix[pivot, later] * right[later]
        right[pivot] /= matrix[pivot, pivot]
    return right


def point_jacobian(
    axes: np.ndarray, anchors: np.ndarray, point: np.ndarray, slides: tuple[int, ...] = ()
) -> np.ndarray:
    """(6, joints, n) Jacobian of a point in the world frame: linear rows, then angular rows.

    Args:
        axes, anchors: (n, joints, 3) of joints, in the world.
        point: (n, 3).
        slides: places of slide joints; the others are hinges.
    """
    out = np.empty((6, axes.shape[1], len(axes)))
    out[3:] = axes.transpose(2, 1, 0)
    ax, ay, az = out[3:]
    # Without `out` the result would have the memory order of the anchors, and the products would be slow.
    rx, ry, rz = np.subtract(point.T[:, None], anchors.transpose(2, 1, 0), out=np.empty((3, *ax.shape)))
    out[0], out[1], out[2] = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
    for place in slides:
        out[:3, place], out[3:, place] = out[3:, place], 0.0
    return out
