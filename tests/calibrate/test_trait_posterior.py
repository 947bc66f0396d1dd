"""The posterior of values: linear traits are inverted, and behaviour does not overrule what sensors show."""

import numpy as np
import pytest

from tests.calibrate.test_by_traits import columns
from twinloop.calibrate.trait_posterior import SAMPLES, LinearTraits, posterior, posterior_samples
from twinloop.randomize.parameter import Gap


def linear(slopes: np.ndarray, levels: np.ndarray, precision: float, gap: Gap | None = "latency") -> LinearTraits:
    return LinearTraits((gap,) * len(levels), slopes, levels, np.full(len(levels), precision))


def test_the_sum_of_two_delays_is_known_and_the_parts_are_not():
    both, other = np.array([[1.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    slopes, truth = np.concatenate([both, other]), np.array([0.5, 1.1, -0.7])
    mean, covariance = posterior([linear(slopes, slopes @ truth, 1e4)], np.ones(3), ("latency",) * 3)
    assert mean[0] + mean[1] == pytest.approx(1.6, abs=0.01)
    assert mean[2] == pytest.approx(-0.7, abs=0.01)
    assert covariance[0, 0] > 0.4
    assert np.sqrt([1, 1, 0] @ covariance @ [1, 1, 0]) < 0.02


def test_columns_of_a_doubtful_gap_change_less():
    """Two columns that explain the same trait: the one of the gap that is open has most of the change."""
    assert columns()["action_delay_ms"].prior == 1.0
    assert columns()["servo_stiffness_scale"].prior == 0.4
    slopes = np.tile([1.0, 1.0], (5, 1))
    traits = linear(slopes, np.full(5, 0.8), 100.0, gap="contact")
    mean, _ = posterior([traits], np.array([1.0, 0.4]), ["contact", "actuation"])
    assert mean.sum() == pytest.approx(0.8, abs=0.01)
    assert mean[0] / mean[1] == pytest.approx((1.0 / 0.4) ** 2, rel=0.01)


def test_a_trait_that_no_row_explains_changes_little():
    rng = np.random.default_rng(1)
    slopes, truth = rng.standard_normal((30, 3)), np.array([0.5, 1.1, -0.7])
    levels = slopes @ truth
    levels[4] += 50.0
    mean, _ = posterior([linear(slopes, levels, 100.0)], np.ones(3), ("latency",) * 3)
    assert mean == pytest.approx(truth, abs=0.05)


def test_what_a_policy_does_changes_no_error_of_a_sensor():
    """Traits of behaviour that fit another noise better change the column of the actuation, not that of the sensor."""
    shown = linear(np.array([[1.0, 0.0]]), np.array([2.0]), 100.0, gap="sensing")
    behaviour = linear(np.tile([1.0, 1.0], (20, 1)), np.full(20, 0.5), 100.0, gap=None)
    mean, covariance = posterior([shown, behaviour], np.ones(2), ["sensing", "actuation"])
    assert mean[0] == pytest.approx(2.0, abs=0.05)
    assert mean[1] == pytest.approx(-1.5, abs=0.1)
    assert (np.diag(covariance) > 0).all()


def test_a_column_that_the_traits_do_not_determine_is_constant():
    covariance = np.array([[0.04, 0.0, 0.1], [0.0, 0.09, 0.0], [0.1, 0.0, 1.0]])
    samples = posterior_samples(
        np.array([0.5, -0.3, 1.0]), covariance, np.ones(3), np.random.default_rng(1), scatter=np.zeros(3)
    )
    assert set(samples[:, 2]) == {1.0}
    assert samples[:, :2].mean(axis=0) == pytest.approx([0.5, -0.3], abs=0.15)
    # The samples do not have the part of the first column that the third one explains.
    assert samples[:, :2].std(axis=0) == pytest.approx([np.sqrt(0.03), 0.3], rel=0.35)


def test_samples_vary_as_the_episodes_of_the_robot_do():
    covariance, scatter = np.diag([0.01, 0.01]), np.array([0.8, 0.0])
    samples = posterior_samples(np.array([2.0, 1.0]), covariance, np.ones(2), np.random.default_rng(1), scatter=scatter)
    assert samples.shape == (SAMPLES, 2)
    assert samples.std(axis=0) == pytest.approx([np.hypot(0.8, 0.1), 0.1], rel=0.25)
