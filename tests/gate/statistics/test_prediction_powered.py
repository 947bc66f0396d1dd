"""Real trials combined with the twin: valid for any bias of the twin, narrower if it correlates, never wider."""

from dataclasses import asdict

import numpy as np
import pytest

from twinloop.gate.statistics.binomial import clopper_pearson
from twinloop.gate.statistics.prediction_powered import METHODS, combine, strata

SERIES = 4000
NOISE = 3 * np.sqrt(0.05 * 0.95 / SERIES)


def drawn(real: float, twin: float, agree: float, n: int, *, rng: np.random.Generator):
    """Draw pairs of outcomes; `agree`: share of the largest possible correlation."""
    both = real * twin + agree * (min(real, twin) - real * twin)
    return rng.multinomial(n, [both, real - both, twin - both, 1 - real - twin + both], size=SERIES).T


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize(("real", "twin"), [(0.8, 0.8), (0.7, 0.97), (0.9, 0.4), (0.97, 0.9)])
@pytest.mark.parametrize("agree", [0.0, 0.5, 0.95])
def test_the_coverage_holds_for_any_bias_and_the_interval_is_never_wider(
    n: int, real: float, twin: float, agree: float
):
    rng = np.random.default_rng(n)
    both, ours, theirs, _ = drawn(real, twin, agree, n, rng=rng)
    yes = both + theirs
    estimate, low, high = strata(yes, both, n - yes, ours, rng.binomial(1000, twin, SERIES), 1000)
    assert ((low <= real) & (real <= high)).mean() >= 0.95 - NOISE
    alone = clopper_pearson(both + ours, n)
    assert (high - low <= alone[1] - alone[0] + 1e-12).all()
    assert ((low <= estimate) & (estimate <= high)).all()
    if n >= 30:  # among ten there may be none of those the twin fails at
        assert abs(estimate.mean() - real) < 0.02


def test_a_correlated_twin_saves_trials_and_an_uncorrelated_one_saves_none():
    rng = np.random.default_rng(0)
    widths = []
    for agree in (0.0, 0.5, 0.9):
        both, ours, theirs, _ = drawn(0.8, 0.8, agree, 50, rng=rng)
        yes = both + theirs
        _, low, high = strata(yes, both, 50 - yes, ours, rng.binomial(2000, 0.8, SERIES), 2000)
        widths.append(float((high - low).mean()))
    assert widths == sorted(widths, reverse=True)
    assert (widths[0] / widths[2]) ** 2 > 1 / 0.75
    alone = clopper_pearson(both + ours, 50)
    assert widths[0] > 0.97 * float((alone[1] - alone[0]).mean())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outcomes", ["none", "all", "one trial", "silent twin", "rates"])
def test_extremes_are_answered(method, outcomes: str):
    rng = np.random.default_rng(3)
    many = (rng.random(500) < 0.8).astype(float)
    paired = (np.arange(12) % 4 > 0).astype(float)
    real = {"none": np.zeros(12), "all": np.ones(12)}.get(outcomes, (np.arange(12) % 3 > 0).astype(float))
    if outcomes == "one trial":
        real, paired = real[:1], paired[:1]
    if outcomes == "silent twin":
        paired, many = np.ones(12), np.ones(500)
    if outcomes == "rates":
        paired, many = rng.random(12), rng.random(500)
    result = combine(real, paired, many, method=method)
    assert 0 <= result.low <= result.estimate <= result.high <= 1
    assert result.real_low <= result.real_rate <= result.real_high
    if method == "strata":
        assert result.high - result.low <= result.real_high - result.real_low + 1e-12
        assert (result.worth_trials or 0) >= result.trials
    assert all(value is None or value == value for value in asdict(result).values())


def test_bets_cover_at_small_numbers_where_the_normal_approximation_does_not():
    rng = np.random.default_rng(5)
    covered = {"betting": 0, "normal": 0}
    for _ in range(100):
        real = rng.random(10) < 0.95
        paired, many = np.where(rng.random(10) < 0.8, real, rng.random(10) < 0.5), rng.random(400) < 0.86
        for method in ("betting", "normal"):
            result = combine(real, paired, many, method=method)
            covered[method] += result.low <= 0.95 <= result.high
    assert covered["betting"] >= 95
    assert covered["normal"] < 85


def test_impossible_outcomes_are_refused():
    with pytest.raises(ValueError, match="one paired"):
        combine([True], [1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="at least one"):
        combine([], [], [1.0])
    with pytest.raises(ValueError, match="finite outcomes"):
        combine([True], [float("nan")], [1.0])
    with pytest.raises(ValueError, match="must be 0 or 1"):
        combine(np.array([0.5]), [1.0], [1.0])
