"""Posterior over gaps in a bank of synthetic traits: open gaps are found, and none if none is open."""

import numpy as np
import pytest

from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.hypothesis import NOTHING, Hypothesis
from twinloop.diagnose.posterior import GapPosterior, gap_posterior
from twinloop.diagnose.summary import ENTRIES, summarise
from twinloop.diagnose.traits import TRAITS
from twinloop.randomize.distribution import Constant
from twinloop.randomize.parameter import GAPS, Gap

NAMES = [trait.name for trait in TRAITS]
SIGNS: dict[Gap, dict[str, float]] = {
    "contact": {"width": -14.0, "slip": 8.0, "success": -0.4},
    "visual": {"poor_light": 0.9},
    "sensing": {"tracker_noise": 5.0, "tracker_late": 140.0},
    "object": {"other_object": 0.8, "weight": 14.0},
    "environment": {"turned": 40.0, "place_x": 3.0},
    "human": {"was_moved": 0.7, "person": 0.8, "success": -0.5},
    "actuation": {"grip": -45.0, "uneven": 9.0},
    "latency": {"following": 200.0, "onset": 180.0},
}
"""What a unit of each gap does to some traits."""
USUAL = {"success": 1.0, "grasped": 1.0, "grip": 70.0, "duration": 4.0, "following": 80.0, "uneven": 5.0}


def made_up(opened: dict[Gap, float], episodes: int, rng: np.random.Generator) -> np.ndarray:
    traits = np.zeros((episodes, len(TRAITS)))
    for place, trait in enumerate(TRAITS):
        change = sum(size * SIGNS[gap].get(trait.name, 0.0) for gap, size in opened.items())
        level = USUAL.get(trait.name, 0.0) + change
        if trait.unit == "1":
            traits[:, place] = rng.random(episodes) < np.clip(level, 0, 1)
        else:
            traits[:, place] = level + 0.1 * max(trait.floor, 0.1) * rng.standard_normal(episodes)
    return traits


@pytest.fixture(scope="module")
def bank() -> Bank:
    rng = np.random.default_rng(0)
    worlds = []
    for gap in GAPS:
        for size in np.linspace(0.2, 1.0, 9):
            hypothesis = Hypothesis(gap, float(size), {"row": Constant(float(size))}, {"row": float(size)})
            worlds.append(CounterfactualCell(hypothesis, made_up({gap: float(size)}, 16, rng)))
    return Bank(CounterfactualCell(NOTHING, made_up({}, 96, rng)), tuple(worlds))


def posterior_of(bank: Bank, opened: dict[Gap, float], *, seed: int = 1) -> GapPosterior:
    return gap_posterior(bank, summarise(made_up(opened, 40, np.random.default_rng(seed))))


@pytest.mark.parametrize("gap", GAPS)
def test_the_gap_that_is_open_comes_first(bank: Bank, gap: Gap):
    weighed = posterior_of(bank, {gap: 0.8})
    assert weighed.ranked[0] == gap
    assert weighed.probability[gap] > 0.9
    assert abs(weighed.magnitude[gap][0] - 0.8) < 0.3


def test_nothing_is_found_where_nothing_is_open(bank: Bank):
    weighed = posterior_of(bank, {})
    assert weighed.nothing > 0.7
    assert max(weighed.probability.values()) < 0.3
    assert not weighed.best


def test_two_gaps_are_both_found(bank: Bank):
    weighed = posterior_of(bank, {"latency": 0.7, "human": 0.6})
    assert set(weighed.ranked[:2]) == {"latency", "human"}
    assert min(weighed.probability["latency"], weighed.probability["human"]) > 0.9


def test_lost_success_is_attributed_to_the_open_gap(bank: Bank):
    weighed = posterior_of(bank, {"human": 0.8, "latency": 0.8})
    assert 0.25 < weighed.cost["human"][0] < 0.6
    assert abs(weighed.cost["latency"][0]) < 0.12


def test_unexplained_traits_are_named(bank: Bank):
    robot_episodes = made_up({}, 40, np.random.default_rng(2))
    robot_episodes[:, NAMES.index("drag")] += 12.0
    robot_episodes[:, NAMES.index("height")] += 40.0
    weighed = gap_posterior(bank, summarise(robot_episodes))
    assert {"drag", "height"} <= set(weighed.strange)
    assert weighed.surprise > 3


def test_unknown_traits_are_left_out(bank: Bank):
    robot_episodes = made_up({"latency": 0.8}, 40, np.random.default_rng(3))
    robot_episodes[:, NAMES.index("width")] = np.nan
    weighed = gap_posterior(bank, summarise(robot_episodes))
    assert weighed.ranked[0] == "latency"
    at = next(place for place, entry in enumerate(ENTRIES) if entry.name == "width")
    assert np.isnan(weighed.deviations[at])


def test_the_size_of_a_row_is_estimated(bank: Bank):
    estimate = posterior_of(bank, {"latency": 0.9}).rows["latency"][0]
    assert estimate.row == "row"
    assert abs(estimate.size - 0.9) < max(2 * estimate.deviation, 0.3)


def test_the_order_of_episodes_changes_nothing(bank: Bank):
    robot_episodes = made_up({"contact": 0.7}, 40, np.random.default_rng(4))
    one, other = (gap_posterior(bank, summarise(order)) for order in (robot_episodes, robot_episodes[::-1]))
    assert one.probability == pytest.approx(other.probability)
