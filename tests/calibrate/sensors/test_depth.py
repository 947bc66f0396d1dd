"""The twin's own depth camera before a plane: its step and its jitter are found again."""

from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.sensors.scans import plane_scan
from twinloop.calibrate.sensors.depth import depth_noise, depth_step
from twinloop.calibrate.sensors.pcd import read_scan

KINECT = Path(__file__).parents[3] / "../shared/data/kinect_tabletops"


@pytest.mark.parametrize(("spread_px", "step_mm"), [(0.6, 2.9), (1.2, 1.1), (0.9, 4.0)])
def test_step_and_jitter_are_found_again(spread_px: float, step_mm: float):
    rng = np.random.default_rng(int(100 * spread_px))
    result = depth_noise([plane_scan(spread_px, step_mm, rng) for _ in range(2)], rng=rng)
    assert result.step_mm is not None
    assert result.step_mm.value == pytest.approx(step_mm, rel=2e-3)
    # The interval holds it nine times of ten; a hair more room keeps this test from being a coin.
    room = 0.02 * spread_px
    assert result.spread_px.low - room <= spread_px <= result.spread_px.high + room
    assert result.near_far_px[0] <= spread_px <= result.near_far_px[1]
    for depth_bin in result.bins:
        assert depth_bin.twin_mm == pytest.approx(depth_bin.measured_mm, rel=0.15)


def test_smooth_depth_has_no_step():
    rng = np.random.default_rng(0)
    assert depth_step(rng.uniform(0.5, 1.5, 5000), rng=rng) is None


def test_the_depth_step_of_a_kinect_follows_its_baseline():
    """z² / (f b · 8): f 580 px and b 75 mm in eighths of a pixel make 2.87 mm at 1 m."""
    if not KINECT.is_dir():
        pytest.skip("no scans of a real depth camera here")
    depth = read_scan(min(KINECT.glob("*.pcd"))).points_m[..., 2]
    result = depth_step(depth[np.isfinite(depth)], rng=np.random.default_rng(0))
    assert result is not None
    assert result.value == pytest.approx(2.87, rel=0.02)
