"""Fitting many rows to traits: a linear world is recovered, and what the traits do not tell apart stays correlated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.by_traits import FittedColumn, FittedTwin, _levels, fit_twin, fitted_columns
from twinloop.curate.rates import Rate
from twinloop.diagnose.traits import TRAITS, Arm
from twinloop.pipeline.generate import generate
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.parameter import Gap
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of
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


def test_demonstrations_show_how_late_the_tracker_is(tmp_path: Path):
    """A policy that never grasps does not show it: the tracker follows a thing that stands still at once."""
    plain = replace(embedded_config(), expert=ExpertConfig(action_noise_rad=0.0))
    late = replace(plain, randomization={**plain.randomization, "tracker_delay_ms": Constant(90.0)})
    generate(late, tmp_path / "demonstrations", episodes=8, workers=1)
    fits = fitted_columns(embedded_config(), {"sensing": 1.0})
    fitted = fit_twin(embedded_config(), (), fits, seed=1, demonstrations=[tmp_path / "demonstrations"])
    assert fitted.values["tracker_delay_ms"].mean() == pytest.approx(90.0, abs=20.0)
    assert fitted.values["tracker_noise_mm"].mean() < 1.0


def demonstrations(folder: Path, noise_mm: Distribution, *, episodes: int) -> Path:
    plain = replace(embedded_config(), expert=ExpertConfig(action_noise_rad=0.0))
    noisy = replace(plain, randomization={**plain.randomization, "tracker_noise_mm": noise_mm})
    generate(noisy, folder, episodes=episodes, workers=1)
    return folder


def test_noise_beyond_the_sensible_range_is_found(tmp_path: Path):
    logs = [demonstrations(tmp_path / "noisy", Constant(9.0), episodes=8)]
    fitted = fit_twin(embedded_config(), (), fitted_columns(embedded_config(), {"sensing": 1.0}), seed=1,
                      demonstrations=logs)  # fmt: skip
    assert fitted.values["tracker_noise_mm"].mean() == pytest.approx(9.0, abs=1.5)


def test_noise_that_varies_between_episodes_varies_in_the_fitted_twin(tmp_path: Path):
    spread = {}
    for name, noise_mm in (("constant", Constant(4.0)), ("varying", Uniform(1.0, 7.0))):
        logs = [demonstrations(tmp_path / name, noise_mm, episodes=24)]
        fits = fitted_columns(embedded_config(), {"sensing": 1.0})
        fitted = fit_twin(embedded_config(), (), fits, seed=1, demonstrations=logs)
        spread[name] = fitted.values["tracker_noise_mm"].std()
    # The true deviation is 1.7 mm. The fit rather puts too much down to noise of the trait than too little.
    assert 2 * spread["constant"] < 0.7 < spread["varying"] < 2.2


def test_engines_change_a_large_error_of_a_sensor_little():
    """Engines were compared without errors of sensors. A difference of 0.4 mm is much of 0.5 mm and little of 9 mm."""
    arm, names = Arm(twin_of(embedded_config())), [trait.name for trait in TRAITS]
    traits = np.full((10, len(TRAITS)), 9.0) + np.linspace(-0.1, 0.1, 10)[:, None]
    level = np.array([trait.scaled(np.array([9.0]))[0] for trait in TRAITS])
    nominal = np.array([trait.scaled(np.array([0.5]))[0] for trait in TRAITS])
    (_, alike), (_, larger) = (_levels(traits, twin, arm) for twin in (level, nominal))
    ratio = dict(zip(names, larger / alike, strict=True))
    assert ratio["tracker_lost"] < 0.2
    assert ratio["torque"] == 1.0  # of another gap
    assert ratio["tracker_late"] == 1.0  # not on a logarithmic scale


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
