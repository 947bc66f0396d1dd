"""The compiled pixel loops give the bits of the NumPy code."""

from dataclasses import replace

import numpy as np
import pytest

from tests.observe.conftest import Varied
from twinloop.observe import compression, depth, drawn_frames, flow, image, kernels, lens, sampling, shutter
from twinloop.observe.image import sensed
from twinloop.observe.rasterizer import FAR_M
from twinloop.observe.renderer import Renderer

EVERYTHING = {
    "lens_flare": 0.1, "vignette": 0.3, "exposure_ev": 0.3, "shutter_ms": 15.0, "rolling_shutter_ms": 20.0,
    "shot_noise": 0.01, "read_noise": 1.5, "white_balance_shift": 0.05, "lens_distortion": -0.05,
    "depth_quantisation_mm": 2.0, "depth_edge_noise_px": 0.8, "depth_hole_share": 0.05, "reflectance": 0.1,
    "defocus_px": 0.8, "colour_saturation": 0.8, "compression_quality": 70.0,
}  # fmt: skip


@pytest.mark.parametrize(
    "off",
    [
        (),
        ("depth_edge_noise_px",),
        ("depth_quantisation_mm",),
        ("shot_noise", "read_noise"),
        ("defocus_px", "colour_saturation"),
    ],
)
def test_images_have_the_same_bits_with_and_without_numba(
    renderer: Renderer, varied: Varied, monkeypatch, off: tuple[str, ...]
):
    pytest.importorskip("numba", reason="needs twinloop[fast]")
    drawn = {name: value for name, value in EVERYTHING.items() if name not in off}
    episodes = varied(**drawn)
    values = {column: float(array[0]) for column, array in episodes.draws.values.items()}
    results = []
    for available in (True, False):
        if not available:
            for module in (compression, depth, drawn_frames, flow, image, lens, sampling, shutter):
                monkeypatch.setattr(module, "compiled", lambda: None)
        else:
            assert kernels.compiled() is not None
        clips = renderer.film(episodes, 0, masks=True, ticks=np.array([10, 30]))
        clips = {name: replace(clip, camera=replace(clip.camera, depth=True)) for name, clip in clips.items()}
        results.append({name: sensed(clip, values, seed=1, attempt=2, name=name) for name, clip in clips.items()})
    for name, fast in results[0].items():
        plain = results[1][name]
        np.testing.assert_array_equal(fast.rgb, plain.rgb)
        np.testing.assert_array_equal(fast.depth_m, plain.depth_m)
        assert fast.pixel_velocity is not None
        np.testing.assert_array_equal(fast.pixel_velocity, plain.pixel_velocity)
        np.testing.assert_array_equal(fast.instance_ids, plain.things.instances[plain.geoms])
        np.testing.assert_array_equal(fast.class_ids, plain.things.classes[plain.geoms])
        np.testing.assert_array_equal(fast.geoms, plain.geoms)


def test_drawn_frames_are_unpacked_to_the_same_bits_and_places(monkeypatch):
    pytest.importorskip("numba", reason="needs twinloop[fast]")
    rng = np.random.default_rng(2)
    rgba, stored = rng.integers(0, 256, (3, 5, 7, 4), dtype=np.uint8), rng.random((3, 5, 7), dtype=np.float32)
    stored[0, :2] = 0  # nothing was drawn there
    geom_of = rng.integers(-1, 300, drawn_frames.CODES).astype(np.int16)
    places, results = np.array([3, 0, 1]), []
    for available in (True, False):
        if not available:
            monkeypatch.setattr(drawn_frames, "compiled", lambda: None)
        frames = drawn_frames.DrawnFrames.empty(4, 5, 7)
        drawn_frames.unpack(rgba, stored, geom_of, places, frames)
        results.append([values[places] for values in (frames.rgb, frames.depth_m, frames.geom_ids)])
    for fast, plain in zip(*results, strict=True):
        np.testing.assert_array_equal(fast, plain)
    np.testing.assert_array_equal(results[0][0], rgba[..., :3])
    assert results[0][1][0, 0, 0] == pytest.approx(FAR_M)
    np.testing.assert_array_equal(results[0][2], geom_of[rgba[..., 3]])


@pytest.mark.parametrize(("height", "width"), [(48, 64), (50, 70)])
def test_shutter_and_compression_have_the_same_bits_at_any_size(monkeypatch, height: int, width: int):
    """Sizes with and without incomplete blocks, and motion that reaches beyond the edge."""
    pytest.importorskip("numba", reason="needs twinloop[fast]")
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (2, height, width, 3), dtype=np.uint8)
    light = rng.random((height, width, 3), dtype=np.float32)
    velocity = rng.normal(0, 300, (height, width, 2)).astype(np.float32)
    velocity[: height // 2] = 0
    results = []
    for available in (True, False):
        if not available:
            for module in (compression, shutter):
                monkeypatch.setattr(module, "compiled", lambda: None)
        exposed = [shutter.Shutter(height, width, open_s, 0.01).exposed(light, velocity) for open_s in (0.0005, 0.012)]
        results.append((compression.compressed(pictures, 70.0), compression.compressed(pictures, 30.0), *exposed))
    for fast, plain in zip(*results, strict=True):
        np.testing.assert_array_equal(fast, plain)
