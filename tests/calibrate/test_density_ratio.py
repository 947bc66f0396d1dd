"""Ranges by discriminator on synthetic traits: truths are recovered, even data look alike, bad input is refused."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.learn.demonstrated import reaching
from twinloop.calibrate.by_discriminator import fitted_rows, real_episodes
from twinloop.calibrate.density_ratio import (
    PlaceDistribution,
    Simulations,
    bootstrapped,
    distinguishability,
    first_estimate,
    inflated,
    matched,
    summaries,
)
from twinloop.errors import UsageError
from twinloop.run.config import config_from_text

# Looked for and not imported: the import takes a second in every process that collects tests.
pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs twinloop[curate]")

CELL = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_mass_kg: [0.05, 0.6], object_position_noise_cm: [-2, 2]}
"""


def traits(places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two traits that follow the places, one that follows both, and four that follow nothing."""
    clean = np.column_stack([np.log(0.2 + places[:, 0]), 2 * places[:, 1], places.prod(axis=1)])
    return np.column_stack([clean + 0.1 * rng.normal(size=clean.shape), rng.normal(size=(len(places), 4))])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("twinloop.calibrate.density_ratio")
    monkeypatch.setattr(module, "TREES", 60)
    monkeypatch.setattr(module, "BOOTSTRAPS", 6)


@pytest.mark.usefixtures("quick")
def test_the_range_closes_in_on_the_truth():
    rng, truth = np.random.default_rng(3), np.array([0.75, 0.3])
    real = traits(np.tile(truth, (12, 1)), rng)
    pool, estimate, proposal = Simulations(2), first_estimate(2), None
    simulated, observed, explained = np.empty(0), np.empty(0), np.empty(0)
    for _ in range(3):
        places = rng.random((50, 2)) if proposal is None else proposal.sample(50, rng)
        pool.add(places, traits(places, rng), proposal)
        simulated, observed, explained = summaries(pool, real, seed=0)
        estimate = matched(pool, simulated, observed, estimate)
        proposal = inflated(estimate)
    assert (np.asarray(explained) > 0).all()
    low, middle, high = np.quantile(bootstrapped(pool, simulated, observed, estimate, rng=rng), [0.02, 0.5, 0.98], 0)
    assert np.abs(middle - truth).max() < 0.15
    assert (low <= truth).all()
    assert (truth <= high).all()
    assert (high - low).max() < 0.6


def test_a_classifier_cannot_tell_equal_data_apart_and_tells_different_data():
    rng = np.random.default_rng(0)
    same, other = rng.normal(size=(200, 5)), rng.normal(size=(20, 5))
    equal, error = distinguishability(same, other, seed=0)
    assert abs(equal - 0.5) < 3 * error
    different, _ = distinguishability(same, other + 3, seed=0)
    assert different > 0.99


def test_samples_stay_inside_the_searched_range():
    places = PlaceDistribution(np.array([0.02, 0.98]), 0.05 * np.eye(2)).sample(500, np.random.default_rng(0))
    assert places.shape == (500, 2)
    assert places.min() >= 0
    assert places.max() <= 1


def test_rows_are_those_that_the_config_varies_and_no_layout():
    config = config_from_text(CELL, name="cell.yaml", folder=Path())
    assert fitted_rows(config, ()) == {"object_mass_kg": (0.05, 0.6)}
    assert fitted_rows(config, ("action_delay_ms",)) == {"action_delay_ms": (0.0, 60.0)}
    with pytest.raises(UsageError, match="--fit object_position_noise_cm: is not a row that episodes can be fitted by"):
        fitted_rows(config, ("object_position_noise_cm",))


def test_too_few_episodes_and_another_robot_are_refused(tmp_path: Path):
    config = config_from_text(CELL, name="cell.yaml", folder=Path())
    few = reaching(tmp_path / "few", episodes=3, source="real", robot="franka_panda")
    with pytest.raises(UsageError, match="3 episodes of demonstrations; 8 or more are needed"):
        real_episodes(config, [few], None)
    other = reaching(tmp_path / "other", episodes=3, source="real", robot="so101")
    with pytest.raises(UsageError, match="is a log of robot so101, and the config has franka_panda"):
        real_episodes(config, [other], None)
