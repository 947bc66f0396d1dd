import numpy as np
import pytest

from twinloop.observe.camera import Intrinsics
from twinloop.observe.projection import distorted, inverse, project, rays, undistorted


@pytest.mark.parametrize("k", [0.0, -0.3, -0.1, 0.05, 0.3])
def test_undistorted_is_the_inverse_of_distorted(k: float, rng: np.random.Generator):
    lens = Intrinsics(100, 100, 64, 48, k)
    points = rng.uniform(-1, 1, (500, 2)) * (50, 40)
    np.testing.assert_allclose(undistorted(distorted(points, lens), lens), points, atol=1e-6)


@pytest.mark.parametrize("k", [0.0, -0.1, 0.1])
def test_the_ray_of_a_pixel_passes_the_points_projected_to_it(k: float):
    lens = Intrinsics(100, 100, 64, 48, k)
    pixels = project(rays(lens, 96, 128) * 2.5, lens)
    np.testing.assert_allclose(pixels[10, 20], (20.5, 10.5), atol=1e-6)


def test_behind_the_camera_is_no_pixel():
    assert np.isnan(project(np.array([0.0, 0.0, -1.0]), Intrinsics(1, 1, 1, 1))).all()


def test_inverse_of_a_pose(rng: np.random.Generator):
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, (1, 2, 3)
    np.testing.assert_allclose(inverse(pose) @ pose, np.eye(4), atol=1e-12)
