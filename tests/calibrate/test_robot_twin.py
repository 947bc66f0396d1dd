"""Which diagnoses change the ranges of the next round."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.diagnose.test_plan import report, wrong
from tests.pipeline.loop.test_steps import ranged
from twinloop.calibrate.by_traits import FittedTwin, with_plain_expert
from twinloop.calibrate.fitted_twin import with_fitted, write_fitted
from twinloop.calibrate.robot_twin import (
    FITTED_WITH_DEMONSTRATIONS,
    KEPT,
    RobotTwin,
    Trials,
    can_be_demonstrated,
    diagnosed_config,
)
from twinloop.curate.rates import Rate
from twinloop.diagnose.report import GapReport, RowEstimate, read_report
from twinloop.pipeline.generate import generate
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.randomize.parameter import Gap
from twinloop.run.config import load_config

DELAY, PLACE, OFFSET = "action_delay_ms", "object_position_noise_cm", "encoder_offset_mrad.joint2"


def diagnosis(*, predicted: float | None, p_value: float | None) -> GapReport:
    """A report on a robot that succeeds in 20 of 40 episodes, with an estimated delay."""
    late = report({"latency": 40.0}, {"latency": (wrong(DELAY, 80.0, 10.0),)})
    return replace(late, predicted=predicted, unmodelled=replace(late.unmodelled, success_p_value=p_value))


@pytest.mark.parametrize(
    ("predicted", "p_value", "changes"),
    [
        (0.5, 0.6, True),
        (0.9, 0.1, True),  # more than the robot's, and possible by chance
        (1.0, 0.001, False),  # lacks what makes the robot fail
        (0.1, 1.0, False),  # too severe
        (None, None, False),  # was not simulated
    ],
)
def test_ranges_change_only_if_the_explanation_predicts_the_success_of_the_robot(
    predicted: float | None, p_value: float | None, changes: bool
):
    report = diagnosis(predicted=predicted, p_value=p_value)
    config = diagnosed_config(ranged(1.0), report, calibrated=frozenset())
    assert (DELAY in config.randomization) is changes
    assert (config == ranged(1.0)) is not changes


@pytest.fixture(scope="module")
def runlog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with one scene, which is too few to change the layout."""
    folder = tmp_path_factory.mktemp("robot-twin") / "runlog"
    generate(ranged(1.0), folder, episodes=1, workers=1)
    return folder


def robot_twin(tmp_path: Path, runlog: Path, fitted: FittedTwin | None) -> RobotTwin:
    """After a round with a diagnosis that finds a delay, and things at other places than in the config."""
    rows: dict[Gap, tuple[RowEstimate, ...]] = {
        "latency": (wrong(DELAY, 80.0, 10.0),), "environment": (wrong(PLACE, 6.0, 15.0, spread=True),)
    }  # fmt: skip
    diagnosis = report({"latency": 20.0, "environment": 20.0}, rows)
    (tmp_path / "diagnosis").mkdir()
    (tmp_path / "diagnosis" / "report.json").write_text(json.dumps(replace(diagnosis, predicted=1.0).to_json()))
    if fitted is not None:
        write_fitted(fitted, tmp_path / "fitted.json")
        write_fitted(fitted, tmp_path / FITTED_WITH_DEMONSTRATIONS)
    return RobotTwin(ranged(1.0), [Trials(tmp_path, tmp_path / "policy", runlog)])


def test_data_is_generated_with_fitted_rows_and_the_layout_that_is_seen(tmp_path: Path, runlog: Path):
    fitted = FittedTwin({DELAY: np.linspace(70.0, 90.0, 32)}, Rate(60, 64), Rate(10, 20), ("log",))
    twin = robot_twin(tmp_path, runlog, fitted)
    config = twin.next_config()
    assert config.randomization[DELAY].support() == (70.0, 90.0)
    assert config.randomization[PLACE] == ranged(1.0).randomization[PLACE]
    assert "table_tilt_deg" in config.randomization  # another row of the environment gap, which is not seen
    assert "something else makes it fail" in twin.verdict(None)


def test_a_fit_that_is_too_severe_is_not_used(tmp_path: Path, runlog: Path):
    fitted = FittedTwin({DELAY: np.linspace(70.0, 90.0, 32)}, Rate(0, 64), Rate(10, 20), ("log",))
    twin = robot_twin(tmp_path, runlog, fitted)
    assert twin.fitted is None
    assert KEPT not in twin.verdict(None)
    report = read_report(tmp_path / "diagnosis")
    assert report.predicts_success is (DELAY in twin.next_config().randomization)


@pytest.mark.parametrize(
    ("in_the_twin", "on_the_robot", "is_kept"),
    [
        (Rate(21, 24), Rate(17, 20), True),
        (Rate(23, 24), Rate(10, 20), False),  # the twin lacks what makes the robot fail
        (Rate(10, 24), Rate(19, 20), False),  # the twin is too severe
        (None, Rate(17, 20), False),
    ],
)
def test_a_twin_that_predicted_the_trials_is_kept_if_the_new_fit_cannot_be_used(
    in_the_twin: Rate | None, on_the_robot: Rate, is_kept: bool, tmp_path: Path, runlog: Path
):
    fitted = FittedTwin({DELAY: np.linspace(70.0, 90.0, 32)}, Rate(0, 64), Rate(17, 20), ("log",))
    robot_twin(tmp_path, runlog, fitted)
    before = with_fitted(ranged(1.0), replace(fitted, values={DELAY: np.linspace(30.0, 40.0, 32)}))
    (tmp_path / "config.yaml").write_text(before.to_yaml())
    trials = Trials(tmp_path, tmp_path / "policy", runlog, in_the_twin, on_the_robot)
    twin = RobotTwin(ranged(1.0), [trials])
    assert twin.is_fitted is is_kept
    assert (twin.next_config() == load_config(tmp_path / "config.yaml")) is is_kept


def test_ranges_that_are_not_fitted_are_not_kept(tmp_path: Path, runlog: Path):
    fitted = FittedTwin({DELAY: np.linspace(70.0, 90.0, 32)}, Rate(0, 64), Rate(17, 20), ("log",))
    robot_twin(tmp_path, runlog, fitted)
    (tmp_path / "config.yaml").write_text(ranged(2.0).to_yaml())
    trials = Trials(tmp_path, tmp_path / "policy", runlog, Rate(21, 24), Rate(17, 20))
    assert RobotTwin(ranged(1.0), [trials]).kept is None


def test_demonstrations_tell_the_offsets_of_sensors_that_are_fitted(tmp_path: Path, runlog: Path):
    errors: dict[str, Distribution] = {"tracker_bias_mm.x": Constant(6.0), OFFSET: Constant(8.0)}
    biased = replace(ranged(1.0), randomization={**ranged(1.0).randomization, **errors})
    generate(biased, tmp_path / "demonstrations", episodes=8, workers=1)
    for row, known in (("tracker_bias_mm.x", True), (DELAY, False)):
        folder = tmp_path / row
        folder.mkdir()
        fitted = FittedTwin({row: np.linspace(-9.0, -8.0, 32)}, Rate(60, 64), Rate(10, 20), ("log",))
        ranges = robot_twin(folder, runlog, fitted).next_config([tmp_path / "demonstrations"]).randomization
        assert (OFFSET in ranges) is known
        low, high = ranges[row].support()
        assert (2.0 < low < 6.0 < high < 10.0) is known


def test_offsets_are_what_remains_beside_the_fitted_rows(tmp_path: Path, runlog: Path):
    """A joint that gives under load reads less than its command; so does one whose encoder reads too low."""
    soft = "servo_stiffness_scale"
    errors: dict[str, Distribution] = {soft: Constant(0.5), OFFSET: Constant(8.0)}
    wrong = replace(ranged(1.0), randomization={**ranged(1.0).randomization, **errors})
    generate(with_plain_expert(wrong), tmp_path / "demonstrations", episodes=16, workers=1)
    offsets = []
    for stiffness in (0.5, 1.0):
        folder = tmp_path / f"stiffness {stiffness}"
        folder.mkdir()
        columns = {"tracker_bias_mm.x": np.zeros(32), soft: np.full(32, stiffness)}
        fitted = FittedTwin(columns, Rate(60, 64), Rate(10, 20), ("log",))
        ranges = robot_twin(folder, runlog, fitted).next_config([tmp_path / "demonstrations"]).randomization
        offsets.append(ranges[OFFSET].support()[0])
    assert offsets[0] == pytest.approx(8.0, abs=0.3)
    assert abs(offsets[1] - 8.0) > 1.0


def test_a_twin_in_which_the_expert_fails_is_not_used(tmp_path: Path, runlog: Path):
    fitted = FittedTwin({"grip_force_scale": np.linspace(0.01, 0.02, 32)}, Rate(60, 64), Rate(10, 20), ("log",))
    assert not fitted.too_severe
    twin = robot_twin(tmp_path, runlog, fitted)
    assert twin.fitted is None
    config = twin.next_config()
    assert "grip_force_scale" not in config.randomization
    assert can_be_demonstrated(config)


@pytest.mark.parametrize(("successes", "delay_ms"), [(60, 120.0), (0, 80.0)])
def test_the_fit_to_demonstrations_is_used_unless_it_is_too_severe(
    tmp_path: Path, runlog: Path, successes: int, delay_ms: float
):
    fitted = FittedTwin({DELAY: np.full(32, 80.0)}, Rate(60, 64), Rate(10, 20), ("log",))
    twin = robot_twin(tmp_path, runlog, fitted)
    again = FittedTwin({DELAY: np.full(32, 120.0)}, Rate(successes, 64), Rate(10, 20), ("log", "demonstrations"))
    write_fitted(again, tmp_path / FITTED_WITH_DEMONSTRATIONS)
    assert twin.next_config().randomization[DELAY].support() == (delay_ms, delay_ms)


def test_demonstrations_can_save_a_fit_that_is_too_severe_without_them(tmp_path: Path, runlog: Path):
    fitted = FittedTwin({DELAY: np.full(32, 80.0)}, Rate(0, 64), Rate(10, 20), ("log",))
    twin = robot_twin(tmp_path, runlog, fitted)
    assert not twin.is_fitted
    again = FittedTwin({DELAY: np.full(32, 120.0)}, Rate(30, 64), Rate(10, 20), ("log", "demonstrations"))
    write_fitted(again, tmp_path / FITTED_WITH_DEMONSTRATIONS)
    assert twin.is_fitted
    assert twin.next_config().randomization[DELAY].support() == (120.0, 120.0)


def test_few_demonstrations_are_not_fitted(tmp_path: Path, runlog: Path):
    fitted = FittedTwin({DELAY: np.full(32, 80.0)}, Rate(60, 64), Rate(10, 20), ("log",))
    twin = robot_twin(tmp_path, runlog, fitted)
    (tmp_path / FITTED_WITH_DEMONSTRATIONS).unlink()
    generate(ranged(1.0), tmp_path / "demonstrations", episodes=3, workers=1)
    assert twin.next_config([tmp_path / "demonstrations"]).randomization[DELAY].support() == (80.0, 80.0)
    assert not (tmp_path / FITTED_WITH_DEMONSTRATIONS).exists()
