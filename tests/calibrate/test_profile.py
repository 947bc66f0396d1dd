"""An interval reaches as far as the logs bear a variable, and is never narrower than the curvature says."""

import numpy as np
import pytest

from tests.calibrate.made import command, logs_of_truth, xl330
from twinloop.calibrate.band import TAIL
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.objective import Objective, robust_cost
from twinloop.calibrate.posterior import PRIOR, Posterior, posterior_of
from twinloop.calibrate.profile import Walk, profiled, widened
from twinloop.calibrate.search import Optimum, downhill
from twinloop.calibrate.sweep import Where

STD = 0.01
HALF = TAIL * STD
AT = 0.5 + HALF * np.array([-4.0, -2.0, -1.0, 1.0, 2.0, 4.0])


def curved() -> Posterior:
    """Two variables, known to STD, that do not feel each other."""
    place, covariance = np.full(2, 0.5), STD**2 * np.eye(2)
    information = np.linalg.inv(covariance) - PRIOR * np.eye(2)
    return Posterior(("a", "b"), place, covariance, information, place - HALF, place + HALF, np.ones(2))


def walked(first: list[float], *, other: float = 0.0) -> Walk:
    """Both variables moved to AT: the second as smooth as its curvature says, the first with these costs. `other`: by
    which share of its way the second followed."""
    places = np.full((2, len(AT), 2), 0.5)
    places[0, :, 0] = places[1, :, 1] = AT
    places[0, :, 1] += other * (AT - 0.5)
    return Walk(np.stack([np.array(first), ((AT - 0.5) / HALF) ** 2]), places)


def test_a_smooth_valley_is_as_wide_as_its_curvature():
    result = widened(curved(), walked([16, 4, 1, 1, 4, 16]))
    assert result.low == pytest.approx(curved().low)
    assert result.high == pytest.approx(curved().high)
    assert result.covariance == pytest.approx(curved().covariance)


def test_a_walk_that_comes_down_again_counts_to_its_outermost_crossing():
    result = widened(curved(), walked([16, 4, 1, 9, 0.25, 4]))
    # Between 2 and 4 halves the root of the cost goes from 0.5 to 2: it is 1 a third of the way.
    assert result.high[0] == pytest.approx(0.5 + HALF * (2 + 2 / 3))
    assert result.low[0] <= 0.5 - HALF
    assert result.high[1] == pytest.approx(curved().high[1])


def test_a_wide_walk_widens_the_draws_along_the_way_the_others_took():
    result = widened(curved(), walked([1, 0.5, 0.1, 0.1, 0.5, 1], other=-0.5))
    assert result.high[0] == pytest.approx(0.5 + 4 * HALF)
    assert result.covariance[0, 0] == pytest.approx((4 * STD) ** 2)
    assert result.covariance[0, 1] == pytest.approx(-0.5 * (4**2 - 1) * STD**2)
    assert np.linalg.eigvalsh(result.covariance)[0] > 0


def test_a_steep_walk_narrows_nothing():
    result = widened(curved(), walked([400, 100, 25, 25, 100, 400]))
    assert (result.low <= curved().low).all()
    assert (result.high >= curved().high).all()
    assert result.covariance == pytest.approx(curved().covariance)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return xl330()


def test_walks_from_a_place_that_is_not_the_best_meet_a_better_one(bench: Bench):
    truth = {"pendulum.coulomb_nm": 0.03, "pendulum.delay_ms": 6.0}
    logs = logs_of_truth(bench, truth, seed=3, asked=[command(2, 200)])
    objective = Objective(bench, logs, tuple(truth), where=Where(1))
    near = np.array([float(variable.inward(np.array(truth[variable.name]))) for variable in objective.variables])
    objective.rescale(objective.raw(near)[0])
    best = downhill(objective, near, rounds=8)
    curvature = posterior_of(objective, best)
    result, better = profiled(objective, best, curvature)
    assert better is None
    assert (result.low <= curvature.low).all()
    assert (result.high >= curvature.high).all()
    aside = _at(objective, best.place + 4 * np.sqrt(np.diag(curvature.covariance)))
    _, better = profiled(objective, aside, posterior_of(objective, aside))
    assert better is not None
    assert robust_cost(objective.residuals(better)[0]) < aside.cost


def _at(objective: Objective, place: np.ndarray) -> Optimum:
    residual, jacobian = objective.linearised(place)
    return Optimum(place, residual, jacobian, float(robust_cost(residual)))


def test_a_weak_variable_is_unknown_or_has_a_wide_interval(bench: Bench):
    truth = {"pendulum.backlash_rad": 0.0, "pendulum.encoder_bias_rad": 1e-5}
    logs = logs_of_truth(bench, truth, seed=5, asked=[command(kind, 200).select(slice(0, 300)) for kind in (1, 2)])
    patch = calibrate(bench, check(bench, logs), list(truth), seed=0, where=Where(1)).patch
    assert patch.fitted.keys() | patch.unknown.keys() == truth.keys()
    for name, result in patch.fitted.items():
        assert result.low <= truth[name] <= result.high, name
