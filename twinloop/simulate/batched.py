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
    ax, ay, az = (axes[:, :, axis].T for axis in range(3))
    rx, ry, rz = (point[:, axis] - anchors[:, :, axis].T for axis in range(3))
    out = np.empty((6, *ax.shape))
    out[0], out[1], out[2] = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
    out[3], out[4], out[5] = ax, ay, az
    for place in slides:
        out[:3, place], out[3:, place] = out[3:, place], 0.0
    return out
