"""The depth sensor of rehearsal cells: noise that grows with distance, lost edges, no values outside its range."""

import numpy as np

from twinloop.deploy.rehearsal.depth_sensor import FAR_M, NEAR_M, DepthSensor


def seen(depth_m: np.ndarray, *, seed: int = 0) -> np.ndarray:
    return DepthSensor(np.random.default_rng(seed)).seen(depth_m, np.random.default_rng(seed + 1))


def test_noise_grows_with_the_square_of_the_distance():
    near, far = (seen(np.full((200, 200), distance_m)) for distance_m in (0.5, 2.0))
    assert 12 < np.std(far) / np.std(near) < 20  # 16, and quantisation
    for measured, distance_m in ((near, 0.5), (far, 2.0)):
        assert abs(measured.mean() / distance_m - 1) < 0.011


def test_pixels_outside_the_range_have_no_value():
    depth_m = np.full((8, 12), 1.0)
    depth_m[:, :4], depth_m[:, 8:] = np.inf, NEAR_M / 2
    measured = seen(depth_m)
    assert (measured[:, :4] == 0).all()
    assert (measured[:, 8:] == 0).all()
    assert (seen(np.full((4, 4), FAR_M + 0.1)) == 0).all()


def test_edges_lose_some_pixels_and_flat_areas_none():
    depth_m = np.full((100, 100), 1.0)
    depth_m[:, 50:] = 1.5
    lost = seen(depth_m) == 0
    assert 0.1 < lost[:, 49:51].mean() < 0.8
    assert not lost[:, :48].any()
    assert not lost[:, 52:].any()


def test_sensors_of_different_cells_differ():
    depth_m = np.full((50, 50), 1.0)
    assert abs(seen(depth_m, seed=1).mean() - seen(depth_m, seed=2).mean()) > 1e-4
