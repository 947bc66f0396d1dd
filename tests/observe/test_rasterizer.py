from dataclasses import replace

import numpy as np
import pytest

from tests.observe.conftest import CAMERAS, Varied
from twinloop.errors import RenderError
from twinloop.observe import painter
from twinloop.observe.clip import CLASSES
from twinloop.observe.quality import QUALITY_NAMES
from twinloop.observe.rasterizer import Rasterizer, require_version
from twinloop.observe.renderer import FilmRequest, Renderer
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

TICKS = np.array([0, 30, 31])


@pytest.mark.parametrize("version", ["4.5 (Core Profile) Mesa 22.3.6", "4.6.0 NVIDIA 550.54"])
def test_new_versions_of_opengl_are_accepted(version: str):
    require_version(version)


@pytest.mark.parametrize("version", ["2.1 Metal - 88", "4.1 ATI-4.8", "OpenGL ES 3.2", ""])
def test_an_old_opengl_is_refused_with_advice(version: str):
    with pytest.raises(RenderError, match=r"need OpenGL 4\.5.*MUJOCO_GL=osmesa"):
        require_version(version)


def test_frames_that_are_drawn_together_are_those_drawn_alone(renderer: Renderer, few: Episodes, monkeypatch):
    ticks = dict.fromkeys(renderer.cameras, TICKS)
    together = renderer.film_together([FilmRequest(few, row, ticks) for row in (0, 1, 2)], masks=True)
    monkeypatch.setattr(painter, "CHUNK", 1)
    for row, clips in enumerate(together):
        for name, clip in renderer.film(few, row, masks=True, ticks=TICKS).items():
            np.testing.assert_array_equal(clips[name].rgb, clip.rgb)
            np.testing.assert_array_equal(clips[name].depth_m, clip.depth_m)
            np.testing.assert_array_equal(clips[name].geom_ids, clip.geom_ids)


def test_without_layers_the_same_pixels_are_drawn(renderer: Renderer, twin: Twin, few: Episodes, monkeypatch):
    """A graphics driver may not let a vertex shader select the layer; frames are then drawn one after the other."""
    begin = Rasterizer.__init__

    def without_layers(rasterizer, *args):
        begin(rasterizer, *args)
        rasterizer._layered = False

    monkeypatch.setattr(Rasterizer, "__init__", without_layers)
    plain = Renderer(twin, CAMERAS).film(few, 2, masks=True, ticks=TICKS)
    for name, clip in renderer.film(few, 2, masks=True, ticks=TICKS).items():
        np.testing.assert_array_equal(plain[name].rgb, clip.rgb)
        np.testing.assert_array_equal(plain[name].depth_m, clip.depth_m)


def test_qualities_differ_in_colour_and_not_in_geometry(renderer: Renderer, twin: Twin, varied: Varied):
    assert renderer
    episodes = varied(reflectance=0.3)
    clips = {
        quality: Renderer(twin, {"down": replace(CAMERAS["down"], quality=quality)}).film(
            episodes, 0, masks=True, ticks=TICKS
        )["down"]
        for quality in QUALITY_NAMES
    }
    for quality in ("fast", "high"):
        assert (clips[quality].rgb != clips["default"].rgb).any()
        # Round shapes have more sides at a higher quality.
        assert (clips[quality].geom_ids == clips["default"].geom_ids).mean() > 0.99
        assert np.median(np.abs(clips[quality].depth_m - clips["default"].depth_m)) < 1e-5


def test_a_shadow_falls_on_the_table(renderer: Renderer, twin: Twin, varied: Varied):
    assert renderer
    clips = [
        Renderer(twin, {"down": replace(CAMERAS["down"], quality=quality)}).film(
            varied(), 0, masks=True, ticks=TICKS[:1]
        )["down"]
        for quality in ("fast", "default")
    ]  # fmt: skip
    table = np.all([clip.class_ids == CLASSES.index("table") for clip in clips], axis=0)
    plain, shaded = (clip.rgb[table].mean(axis=1) for clip in clips)
    dark = shaded < plain - 10
    assert 0.001 < dark.mean() < 0.5
    np.testing.assert_allclose(shaded[~dark], plain[~dark], atol=12)
