"""Fills: attempts go where accepted episodes are missing, and the filled draws are more even than ordinary ones."""

import numpy as np
import pytest

from twinloop.curate.fill_plan import cell_variation, plan_fill, thin_regions
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.fill import FillConfig, FillRegion

ROWS = {
    "object_mass_kg": Uniform(0.05, 0.4),
    "friction_coefficient": Uniform(0.2, 1.1),
    "object_yaw_deg": Uniform(-45.0, 45.0),
}
MASS, FRICTION = "object_mass_kg", "friction_coefficient"


def is_accepted(points: dict[str, np.ndarray]) -> np.ndarray:
    """Heavy objects with little friction mostly slip."""
    slips = (points[MASS] > 0.6) & (points[FRICTION] < 0.4)
    return ~slips | (np.random.default_rng(0).random(len(slips)) < 0.25)


def drawn(episodes: int, *, seed: int, fill: FillConfig | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    points = Sampler(ROWS, seed=seed, fill=fill).unit_points(0, episodes)
    return points, is_accepted(points)


def test_the_thin_region_is_the_one_in_which_attempts_fail():
    points, accepted = drawn(800, seed=1)
    region = thin_regions(points, accepted)[0]
    assert set(region.quantiles) == {MASS, FRICTION}
    assert region.quantiles[MASS][0] >= 0.5
    assert region.quantiles[FRICTION][1] <= 0.5
    assert region.accepted < 0.5 * region.expected < region.attempts


def test_filling_is_more_even_than_as_many_ordinary_episodes():
    points, accepted = drawn(800, seed=1)
    fill = plan_fill(points, accepted, episodes=400, of=("digest",))
    assert fill is not None
    assert sum(region.share for region in fill.regions) <= 1 + 1e-6
    results = []
    for added, was_accepted in (drawn(400, seed=2, fill=fill), drawn(400, seed=2)):
        every = {column: np.concatenate([points[column], added[column]]) for column in points}
        results.append(cell_variation(every, np.concatenate([accepted, was_accepted])))
    filled, ordinary = results
    assert filled < 0.6 * ordinary


def test_even_data_need_no_fill():
    points, _ = drawn(800, seed=1)
    everything = np.ones(800, bool)
    assert thin_regions(points, everything) == []
    assert plan_fill(points, everything, episodes=200, of=()) is None


def test_a_single_column_is_filled_too():
    points = Sampler({MASS: Uniform(0.05, 0.4)}, seed=0).unit_points(0, 400)
    accepted = points[MASS] < 0.75
    fill = plan_fill(points, accepted, episodes=100, of=())
    assert fill is not None
    assert all(region.quantiles[MASS][0] >= 0.7 for region in fill.regions)


def test_an_episode_of_a_fill_drawn_alone_is_the_one_drawn_among_others():
    fill = FillConfig(("x",), (FillRegion(0.5, {MASS: (0.8, 1.0)}), FillRegion(0.25, {FRICTION: (0.0, 0.1)})))
    everyone, alone = Sampler(ROWS, seed=4, fill=fill).draw(0, 200), Sampler(ROWS, seed=4, fill=fill).draw(77, 78)
    for column in everyone.values:
        assert alone.values[column][0] == everyone.values[column][77]
    heavy = everyone.values[MASS] >= 0.05 + 0.8 * 0.35 - 1e-9
    assert heavy.mean() == pytest.approx(0.5 + 0.5 * 0.2, abs=0.05)
    ordinary = Sampler(ROWS, seed=4).draw(0, 200)
    np.testing.assert_array_equal(ordinary.values["object_yaw_deg"], everyone.values["object_yaw_deg"])
