"""Fitting many rows to traits: a linear world is recovered, and what the traits do not tell apart stays correlated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.by_traits import FittedColumn, FittedTwin, _posterior, _samples, fit_twin, fitted_columns
from twinloop.curate.rates import Rate
from twinloop.pipeline.generate import generate
from twinloop.randomize.distribution import Constant
from twinloop.randomize.parameter import Gap
from twinloop.run.default import embedded_config
from twinloop.simulate.expert import ExpertConfig


def columns() -> dict[str, FittedColumn]:
    gaps: dict[Gap, float] = {"latency": 1.0, "sensing": 1.0, "actuation": 0.4}
    return {column.name: column for column in fitted_columns(embedded_config(), gaps)}


def test_columns_are_the_constant_errors_of_the_gaps():
    names = columns()
    assert {"action_delay_ms", "tracker_noise_mm", "servo_stiffness_scale", "tracker_bias_mm.x"} <= set(names)
    assert "friction_coefficient" not in names  # of another gap
    assert "object_shift_probability" not in names  # an event
    assert "encoder_bias_mrad" not in names  # its direction is drawn in every episode


@pytest.mark.parametrize(
    ("name", "size", "value"),
    [
        ("action_delay_ms", 0.0, 0.0),
        ("action_delay_ms", 1.0, 60.0),
        ("action_delay_ms", -1.0, 0.0),  # a delay is never negative
        ("servo_stiffness_scale", -1.0, 0.7),
        ("servo_stiffness_scale", 1.0, 1.3),
        ("tracker_bias_mm.x", -1.0, -5.0),
    ],
)
def test_sizes_are_those_of_causes(name: str, size: float, value: float):
    assert columns()[name].values(np.array([size])) == pytest.approx([value])


def test_the_sum_of_two_delays_is_known_and_the_parts_are_not():
    both, other = np.array([[1.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    slopes, truth = np.concatenate([both, other]), np.array([0.5, 1.1, -0.7])
    mean, covariance = _posterior([(slopes, slopes @ truth, np.array([1e4, 1e4]))], np.ones(3))
    assert mean[0] + mean[1] == pytest.approx(1.6, abs=0.01)
    assert mean[2] == pytest.approx(-0.7, abs=0.01)
    assert covariance[0, 0] > 0.4
    assert np.sqrt([1, 1, 0] @ covariance @ [1, 1, 0]) < 0.02


def test_a_column_that_the_traits_do_not_determine_is_constant():
    covariance = np.array([[0.04, 0.0, 0.1], [0.0, 0.09, 0.0], [0.1, 0.0, 1.0]])
    samples = _samples(np.array([0.5, -0.3, 1.0]), covariance, np.ones(3), np.random.default_rng(1))
    assert set(samples[:, 2]) == {1.0}
    assert samples[:, :2].mean(axis=0) == pytest.approx([0.5, -0.3], abs=0.15)
    # The samples do not have the part of the first column that the third one explains.
    assert samples[:, :2].std(axis=0) == pytest.approx([np.sqrt(0.03), 0.3], rel=0.35)


def test_columns_of_a_doubtful_gap_change_less():
    """Two columns that explain the same trait: the one of the gap that is open has most of the change."""
    assert columns()["action_delay_ms"].prior == 1.0
    assert columns()["servo_stiffness_scale"].prior == 0.4
    slopes = np.tile([1.0, 1.0], (5, 1))
    mean, _ = _posterior([(slopes, np.full(5, 0.8), np.full(5, 100.0))], np.array([1.0, 0.4]))
    assert mean.sum() == pytest.approx(0.8, abs=0.01)
    assert mean[0] / mean[1] == pytest.approx((1.0 / 0.4) ** 2, rel=0.01)


def test_a_trait_that_no_row_explains_changes_little():
    rng = np.random.default_rng(1)
    slopes, truth = rng.standard_normal((30, 3)), np.array([0.5, 1.1, -0.7])
    levels = slopes @ truth
    levels[4] += 50.0
    mean, _ = _posterior([(slopes, levels, np.full(30, 100.0))], np.ones(3))
    assert mean == pytest.approx(truth, abs=0.05)


def test_demonstrations_show_how_late_the_tracker_is(tmp_path: Path):
    """A policy that never grasps does not show it: the tracker follows a thing that stands still at once."""
    plain = replace(embedded_config(), expert=ExpertConfig(action_noise_rad=0.0))
    late = replace(plain, randomization={**plain.randomization, "tracker_delay_ms": Constant(90.0)})
    generate(late, tmp_path / "demonstrations", episodes=8, workers=1)
    fits = fitted_columns(embedded_config(), {"sensing": 1.0})
    fitted = fit_twin(embedded_config(), (), fits, seed=1, demonstrations=[tmp_path / "demonstrations"])
    assert fitted.values["tracker_delay_ms"].mean() == pytest.approx(90.0, abs=20.0)
    assert fitted.values["tracker_noise_mm"].mean() < 1.0


@pytest.mark.parametrize(
    ("twin", "robot", "severe", "predicts"),
    [
        (30, 10, False, True),
        (60, 20, False, True),
        (5, 16, True, False),  # the policy fails far more often than on the robot: these are not its values
        (64, 9, False, False),  # something else makes the policy fail on the robot
    ],
)
def test_a_fitted_twin_in_which_the_policy_fails_more_often_is_too_severe(
    twin: int, robot: int, severe: bool, predicts: bool
):
    fitted = FittedTwin({}, Rate(twin, 64), Rate(robot, 20), ())
    assert (fitted.too_severe, fitted.predicts_success) == (severe, predicts)
