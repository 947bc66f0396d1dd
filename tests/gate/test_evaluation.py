"""Evaluations: correct counts, round trip, and detection of any change."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.gate.made_up import PHASES, evaluation_of
from twinloop.curate.intervals import wilson
from twinloop.errors import CorruptError, UsageError
from twinloop.gate import Evaluation, load_evaluation, write_evaluation
from twinloop.gate.outcomes import joined

SOME = np.arange(90) % 3 > 0


def test_success_is_counted_with_its_interval():
    success = evaluation_of(SOME).success
    assert (success.successes, success.trials) == (60, 90)
    low, high = wilson(60, 90)
    assert success.interval == (float(low), float(high))


def test_the_rate_of_a_phase_counts_episodes_that_reached_it():
    result = evaluation_of(SOME)
    completed = result.outcomes.completed
    for place, (name, phase) in enumerate(zip(PHASES, result.phases, strict=True)):
        assert phase.name == name
        assert phase.rate.trials == (completed >= place).sum()
        assert phase.rate.successes == (completed >= place + 1).sum()
    assert result.phases[-1].rate.successes == result.success.successes


def test_times_are_of_successes_only():
    result = evaluation_of(SOME)
    assert result.completion_s[0.5] == pytest.approx(np.median(4 + np.flatnonzero(SOME) / 100))
    assert evaluation_of(np.zeros(5)).completion_s == {}


def test_a_parameter_that_decides_is_found_and_others_are_not():
    result = evaluation_of(SOME)
    friction = result.outcomes.draws["friction_coefficient"]
    decided = replace(result.outcomes, success=friction > 0.4)
    first, second = Evaluation(result.subject, decided).parameters
    assert first.column == "friction_coefficient"
    assert first.p_value < 1e-6
    assert first.fall is not None
    assert second.p_value > 1e-3


def test_round_trip(tmp_path: Path):
    result = evaluation_of(SOME)
    write_evaluation(result, tmp_path / "deep" / "down")
    again = load_evaluation(tmp_path / "deep" / "down")
    assert again.subject == result.subject
    assert again.results() == result.results()
    assert again.outcomes.table().equals(result.outcomes.table())
    written = json.loads((tmp_path / "deep" / "down" / "evaluation.json").read_text())
    assert written["success"]["successes"] == 60
    assert [entry["phase"] for entry in written["phases"]] == list(PHASES)
    assert {entry["parameter"] for entry in written["parameters"]} == set(result.outcomes.draws)


def test_the_same_evaluation_is_the_same_bytes(tmp_path: Path):
    for name in ("a", "b"):
        write_evaluation(evaluation_of(SOME), tmp_path / name)
    for file in ("evaluation.json", "episodes.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_parts_are_joined_in_the_order_of_attempts():
    whole = evaluation_of(SOME).outcomes
    parts = [whole.take(np.arange(first, first + 30)) for first in (60, 0, 30)]
    assert joined(parts).table().equals(whole.table())


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "episodes.parquet").write_bytes(b"PAR1"),
        lambda folder: (folder / "episodes.parquet").unlink(),
        lambda folder: (folder / "evaluation.json").write_text("{"),
        lambda folder: (folder / "evaluation.json").write_text("[" * 100_000),
        lambda folder: (folder / "evaluation.json").write_text('{"format_version": 1, "subject": {"x": 1}}'),
        lambda folder: (folder / "evaluation.json").write_text('{"format_version": 99}'),
    ],
)
def test_altered_files_are_refused(tmp_path: Path, harm):
    write_evaluation(evaluation_of(SOME), tmp_path)
    harm(tmp_path)
    with pytest.raises(CorruptError, match=str(tmp_path)):
        load_evaluation(tmp_path)


def test_a_folder_without_one_is_refused_by_name(tmp_path: Path):
    with pytest.raises(UsageError, match=r"evaluation\.json"):
        load_evaluation(tmp_path)
