"""Laws of the depth sensor."""

import numpy as np
import pytest

from tests.observe.conftest import values_of
from twinloop.observe.clip import Clip
from twinloop.observe.depth import Slant, sensed_depth
from twinloop.observe.image_settings import image_settings
from twinloop.simulate.episodes import Episodes


def grazing(clip: Clip) -> np.ndarray:
    slant = Slant(clip)
    return np.stack([slant.of(depth_m) for depth_m in clip.depth_m])


@pytest.fixture(scope="module")
def sense(clips: dict[str, Clip], few: Episodes):
    def run(camera: str = "down", seed: int = 0, **changed: float) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return sensed_depth(clips[camera], image_settings(values_of(few, 2, **changed)), rng=rng)

    return run


def test_all_off_is_the_truth_to_the_bit(clips: dict[str, Clip], sense):
    np.testing.assert_array_equal(sense(), clips["down"].depth_m)


def test_steps_have_their_size_and_grow_with_the_square(clips: dict[str, Clip], sense):
    truth, out = clips["front"].depth_m, sense("front", depth_quantisation_mm=4)
    allowed = 0.5 * 0.004 * truth.astype(float) ** 2 * 1.03
    assert (np.abs(out - truth) <= allowed + 1e-6).all()
    assert len(np.unique(out)) < len(np.unique(truth)) / 3


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("depth_quantisation_mm", (1, 5, 20)),
        ("depth_edge_noise_px", (0.3, 1, 3)),
        ("depth_hole_share", (0.02, 0.1, 0.3)),
    ],
)
def test_a_larger_value_changes_depth_more(clips: dict[str, Clip], sense, column: str, values: tuple[float, ...]):
    truth = clips["front"].depth_m
    changes = [np.square(sense("front", **{column: value}).astype(float) - truth).mean() for value in values]
    assert 0 < changes[0] < changes[1] < changes[2]


def test_edge_noise_is_at_edges_and_slants(clips: dict[str, Clip], sense):
    """Straight down on the table there is almost none; over an edge there is much."""
    truth = clips["down"].depth_m
    change = np.abs(sense(depth_edge_noise_px=0.5) - truth)
    steep = grazing(clips["down"]) > 0.5
    assert change[steep].mean() > 10 * change[~steep].mean()


def test_the_share_of_holes_is_the_requested_one(sense):
    assert (sense(depth_hole_share=0.06) == 0).mean() == pytest.approx(0.06, abs=0.003)


def test_holes_open_on_grazing_surfaces_first(clips: dict[str, Clip], sense):
    holes = sense("front", depth_hole_share=0.05) == 0
    score = grazing(clips["front"])
    assert score[holes].mean() > 1.5 * score[~holes].mean()


def test_a_mirror_has_more_holes(clips: dict[str, Clip], sense):
    table = clips["front"].class_ids == 3
    plain, shiny = (
        (sense("front", depth_hole_share=0.1, reflectance=shine)[table] == 0).mean() for shine in (0.0, 0.4)
    )  # fmt: skip
    assert shiny > plain


def test_holes_do_not_change_the_noise_of_other_stages(sense):
    with_holes, without = sense(depth_edge_noise_px=1, depth_hole_share=0.1), sense(depth_edge_noise_px=1)
    there = with_holes > 0
    np.testing.assert_array_equal(with_holes[there], without[there])
