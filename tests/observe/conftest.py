"""Fixtures of the tests of images. Without an OpenGL context these tests are skipped."""

from collections.abc import Callable, Mapping

import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.errors import RenderError
from twinloop.observe.camera import CameraConfig, default_cameras
from twinloop.observe.clip import Clip
from twinloop.observe.gl import context
from twinloop.observe.renderer import Renderer
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

CAMERAS = default_cameras(rate_hz=25, width=96, height=80) | {
    "down": CameraConfig("fixed", (0.46, -0.1, 0.9), (0.46, -0.1, 0.0), 50.0, 96, 80, 5)
}

Nominal = Mapping[str, float]
Varied = Callable[..., Episodes]


@pytest.fixture(scope="session")
def renderer(twin: Twin) -> Renderer:
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    return Renderer(twin, CAMERAS)


@pytest.fixture(scope="session")
def varied(simulate: Simulate) -> Varied:
    """Episode 0 with these parameters fixed at these values."""

    def run(**values: float) -> Episodes:
        ranges: dict[str, Distribution] = dict(SEED_RANGES)
        ranges |= {name: Constant(value) for name, value in values.items()}
        return simulate(1, ranges=ranges)

    return run


@pytest.fixture(scope="session")
def clips(renderer: Renderer, few: Episodes) -> dict[str, Clip]:
    return renderer.film(few, 2, masks=True)


def values_of(episodes: Episodes, row: int, **changed: float) -> dict[str, float]:
    return {column: float(array[row]) for column, array in episodes.draws.values.items()} | changed
