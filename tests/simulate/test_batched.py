"""Linear algebra with the batch as the last axis: as NumPy's, and the same bits for any number of scenes."""

import numpy as np
import pytest

from twinloop.simulate.batched import gram, point_jacobian, solve_positive, weighted_sum

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("joints", [5, 7, 14])
def test_results_are_those_of_numpy(joints: int):
    matrices, weights = RNG.standard_normal((6, joints, 9)), RNG.standard_normal((joints, 9))
    np.testing.assert_allclose(weighted_sum(matrices, weights), np.einsum("ajn,jn->an", matrices, weights))
    products = gram(matrices)
    np.testing.assert_allclose(products, np.einsum("ajn,bjn->abn", matrices, matrices))
    products[np.arange(6), np.arange(6)] += 0.1
    right = RNG.standard_normal((6, 9))
    solved = np.linalg.solve(products.transpose(2, 0, 1), right.T[:, :, None])[:, :, 0].T
    np.testing.assert_allclose(solve_positive(products.copy(), right.copy()), solved, rtol=1e-7)


def test_a_scene_alone_has_the_same_bits():
    matrices, right = RNG.standard_normal((6, 14, 33)), RNG.standard_normal((6, 33))

    def solved(rows: slice) -> np.ndarray:
        products = gram(matrices[:, :, rows].copy())
        products[np.arange(6), np.arange(6)] += 0.01
        return solve_positive(products, right[:, rows].copy())

    whole = solved(slice(0, 33))
    for number in range(33):
        np.testing.assert_array_equal(solved(slice(number, number + 1))[:, 0], whole[:, number])


def test_the_jacobian_is_that_of_rotations_about_the_axes():
    axes = RNG.standard_normal((4, 3, 3))
    anchors, point = RNG.standard_normal((4, 3, 3)), RNG.standard_normal((4, 3))
    jacobian = point_jacobian(axes, anchors, point)
    for scene in range(4):
        for joint in range(3):
            linear = np.cross(axes[scene, joint], point[scene] - anchors[scene, joint])
            np.testing.assert_allclose(jacobian[:3, joint, scene], linear)
            np.testing.assert_allclose(jacobian[3:, joint, scene], axes[scene, joint])
