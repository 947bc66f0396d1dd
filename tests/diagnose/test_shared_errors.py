"""Errors that traits share are one piece of evidence, not many."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.diagnose.synthetic import made_up, made_up_bank
from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.causes import hypothesis_of
from twinloop.diagnose.emulator import Emulator, emulator_of
from twinloop.diagnose.events import events_of
from twinloop.diagnose.explanations import Observed
from twinloop.diagnose.hypothesis_set import MOBILE_TOLERANCE, NEARLY_UNCHANGED, causes_in, hypotheses_of
from twinloop.diagnose.likelihood import EntryLikelihood
from twinloop.diagnose.small_errors import correlation, shared_errors, small_errors
from twinloop.diagnose.summary import NAMES, summarise
from twinloop.run.config import config_from_text

TRAITS = ("joint_delay", "ride_height", "swing_brake")


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    return emulator_of(made_up_bank())


def observed(difference: tuple[float, ...], shared: np.ndarray | None) -> Observed:
    """A log of three traits with a variance of 2 each."""
    values, covariance = np.full(len(NAMES), np.nan), None
    places = [NAMES.index(name) for name in TRAITS]
    values[places] = difference
    if shared is not None:
        covariance = np.zeros((len(NAMES), len(NAMES)))
        covariance[np.ix_(places, places)] = shared
    ones = np.ones(len(NAMES))
    return Observed(values, 2 * ones, 0 * ones, 1e6 * ones, events_of(made_up({}, 8, seed=1)), covariance)


def log_likelihood(emulator: Emulator, item: Observed) -> float:
    entries = EntryLikelihood(emulator, item)
    return float(entries.fit(np.zeros(3), entries.variance, 0.0))


def test_the_likelihood_is_that_of_a_normal_distribution_with_this_covariance(emulator: Emulator):
    direction = np.array([1.0, -0.8, 0.5])
    shared = np.outer(direction, direction)
    covariance = np.diag(2 - np.square(direction)) + shared
    differences = (0.0, 0.0, 0.0), (2.0, -1.6, 1.0), (2.0, 1.6, -1.0)
    exponents = [np.array(item) @ np.linalg.solve(covariance, item) for item in differences]
    expected = -0.5 * (np.array(exponents) + np.linalg.slogdet(2 * np.pi * covariance)[1])
    logs = np.array([log_likelihood(emulator, observed(item, shared)) for item in differences])
    np.testing.assert_allclose(logs - logs[0], expected - expected[0], atol=1e-3)


def test_traits_that_differ_together_are_less_evidence(emulator: Emulator):
    direction = np.array([1.3, 1.3, 1.3])
    alone, together = (
        log_likelihood(emulator, observed((0.0, 0.0, 0.0), shared))
        - log_likelihood(emulator, observed((3.0, 3.0, 3.0), shared))
        for shared in (None, np.outer(direction, direction))
    )
    assert together < 0.6 * alone


def test_without_shared_errors_nothing_changes(emulator: Emulator):
    entries = EntryLikelihood(emulator, observed((1.0, 2.0, 3.0), None))
    residual, variance = np.array([1.0, 2.0, 3.0]), np.full(3, 2.0)
    rest, own, log = entries.without_shared(residual, variance)
    assert rest is residual
    assert own is variance
    assert log == 0.0


def test_shared_errors_are_no_larger_than_the_variance_of_their_entries(emulator: Emulator):
    log = summarise(made_up({}, 16, seed=4))
    shared = shared_errors(emulator, log, 0.1)
    np.testing.assert_allclose(shared, shared.T)
    sampling = np.nan_to_num(log.variances + emulator.reference.variances)
    assert (np.diagonal(shared) <= np.square(small_errors(emulator, 0.1)) + sampling + 1e-12).all()
    assert np.linalg.eigvalsh(shared).min() > -1e-9 * np.trace(shared)


def test_traits_that_vary_together_are_correlated():
    traits = made_up({}, 200, seed=5)
    usual = correlation(traits)
    one, other = NAMES.index("slip"), NAMES.index("grip")
    assert abs(usual[one, other]) < 0.3
    same = traits.copy()
    same[:, other] = same[:, one]
    assert correlation(same)[one, other] == pytest.approx(1.0, abs=1e-3)


def test_what_small_errors_change_beyond_their_slopes_is_measured():
    """The first bit of any error makes a trait jump, which the slope of the smallest simulated size does not show."""
    bank, place = made_up_bank(), NAMES.index("onset")
    parts = [(cause, 0.05) for cause in bank.causes[:4]]
    jumped = bank.reference.traits[:24].copy()
    jumped[:, place] += 30
    cells = tuple(CounterfactualCell(hypothesis_of(parts), jumped) for _ in range(3))
    usual, emulator = emulator_of(bank), emulator_of(replace(bank, cells=(*bank.cells, *cells)))
    assert usual.small is None
    assert emulator.small is not None
    assert emulator.small.shift[place] == pytest.approx(30, rel=0.2)
    np.testing.assert_array_equal(emulator.bend, usual.bend)
    assert small_errors(emulator, 0.1)[place] > 24
    shared = shared_errors(emulator, summarise(made_up({}, 16, seed=4)), 0.1)
    assert shared[place, place] > 24**2


def test_every_row_is_a_little_wrong_in_some_cells_of_a_mobile_robot():
    walk, arm = (
        config_from_text(f"scene: {{robot: {robot}}}", name="cell.yaml", folder=Path.cwd())
        for robot in ("quadruped", "franka_panda")
    )
    small = [item for item in hypotheses_of(walk, levels=2, seed=0) if 0 < item.magnitude <= MOBILE_TOLERANCE]
    rows = {(cause.row, cause.element) for cause in causes_in(walk) if cause.side in ("low", "high")}
    assert len(small) == NEARLY_UNCHANGED
    assert all(len(item.sizes) == len(rows) for item in small)
    assert len({tuple(item.sizes) for item in small}) == NEARLY_UNCHANGED
    assert all(item.magnitude > MOBILE_TOLERANCE for item in hypotheses_of(arm, levels=2, seed=0) if item.sizes)
