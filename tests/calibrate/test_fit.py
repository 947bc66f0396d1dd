"""Fits: hidden values are recovered, undetermined variables are reported as unknown, and a patch round-trips."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage_interval import coverage_interval
from tests.calibrate.made import command, logs_of_truth, xl330
from twinloop.calibrate.band import replay_with_band
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.identify import unidentifiable
from twinloop.calibrate.objective import Objective
from twinloop.calibrate.patch import TwinPatch, load_patch
from twinloop.calibrate.sweep import Where
from twinloop.errors import UsageError

ASKED = {"resistance_ohm": (1.8, 4.5), "coulomb_nm": (0.005, 0.04), "armature_kgm2": (0.0008, 0.003)}
SILENT = "pendulum.duty_limit"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return xl330()


def truth_of(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {f"pendulum.{name}": float(rng.uniform(*ends)) for name, ends in ASKED.items()}


@pytest.fixture(scope="module", params=[1, 2])
def recovered(bench: Bench, request: pytest.FixtureRequest) -> tuple[dict[str, float], TwinPatch]:
    truth = truth_of(request.param)
    logs = logs_of_truth(bench, truth, seed=request.param, asked=[command(kind, 200) for kind in (0, 2)])
    names = [*truth, SILENT]
    return truth, calibrate(bench, check(bench, logs), names, seed=0, where=Where(1)).patch


def test_a_hidden_truth_is_found_within_five_per_cent_or_its_interval(recovered: tuple[dict[str, float], TwinPatch]):
    truth, patch = recovered
    for name, value in truth.items():
        result = patch.fitted[name]
        assert result.low <= result.value <= result.high
        assert abs(result.value / value - 1) < 0.05 or result.low <= value <= result.high, name


def test_an_undetermined_variable_gets_no_estimate(recovered: tuple[dict[str, float], TwinPatch]):
    _, patch = recovered
    assert SILENT not in patch.fitted
    assert SILENT not in patch.samples
    assert "hardly changes" in patch.unknown[SILENT].reason
    assert "steps larger than the servo can follow" in patch.unknown[SILENT].reveals


def test_a_patch_round_trips(recovered: tuple[dict[str, float], TwinPatch], tmp_path: Path):
    _, patch = recovered
    patch.write(tmp_path / "patch.yaml")
    again = load_patch(tmp_path / "patch.yaml")
    assert again.values == pytest.approx(patch.values, rel=1e-5)
    assert again.unknown == patch.unknown
    assert again.provenance == patch.provenance
    assert again.ranges.keys() == patch.ranges.keys() == {"joint_friction_nm"}
    low, high = patch.ranges["joint_friction_nm"]
    result = patch.fitted["pendulum.coulomb_nm"]
    assert (low, high) == (result.low, result.high)


def test_the_band_covers_most_of_held_out_logs(bench: Bench, recovered: tuple[dict[str, float], TwinPatch]):
    truth, patch = recovered
    asked = [command(1, 200), command(2, 200).select(slice(0, 300)), command(0, 200)]
    unseen = logs_of_truth(bench, truth, seed=77, asked=asked)
    result = replay_with_band(bench, unseen, patch, where=Where(1))
    assert result.coverage["position"] > 0.8
    shares = result.coverage_by_log["position"]
    assert list(shares) == list(result.by_log)
    frames = [result.by_log[log]["position"].frames for log in shares]
    assert np.average(list(shares.values()), weights=frames) == pytest.approx(result.coverage["position"])
    low, high = coverage_interval(result, "position", rng=np.random.default_rng(0))
    assert min(shares.values()) <= low < result.coverage["position"] < high <= max(shares.values())
    assert result.errors["position"].rmse < 0.01
    assert not any("one log does not show" in note for note in patch.notes)


def test_a_single_log_is_said_to_have_too_narrow_a_band(bench: Bench):
    logs = logs_of_truth(bench, {}, seed=5, asked=[command(2, 200)])
    patch = calibrate(bench, check(bench, logs), ["pendulum.resistance_ohm"], seed=0, where=Where(1)).patch
    assert any(note.startswith("warning: one log does not show") for note in patch.notes)


def test_one_of_two_interchangeable_variables_is_reported_as_unknown(bench: Bench):
    """Held still at one duty, supply, winding and sag are one number."""
    still = command(0, 400)
    still.columns["goal_position"][:] = 0.4
    (log,) = logs_of_truth(bench, {}, seed=1, asked=[still])
    held = log.select(slice(300, None))
    names = ("pendulum.resistance_ohm", "pendulum.sag", "pendulum.torque_constant_nm_a")
    unknown = unidentifiable(Objective(bench, [held], names, where=Where(1)), seed=0, points=1)
    assert 0 < len(unknown) < len(names)


def test_an_empty_fit_is_refused(bench: Bench):
    logs = logs_of_truth(bench, {}, seed=1, asked=[command(0, 100)])
    with pytest.raises(UsageError, match="nothing to fit"):
        calibrate(bench, check(bench, logs), [], seed=0)
    with pytest.raises(UsageError, match="none of the requested parameters can be determined"):
        calibrate(bench, check(bench, logs), [SILENT], seed=0, where=Where(1))
