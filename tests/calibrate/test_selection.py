"""The logs of a fit cover speed, load, range and every setting."""

from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import command, logs_of_truth, xl330
from tests.calibrate.servo_bench import servo_bench, servo_log, swings
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.selection import LONGEST_S, folds, select_logs


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return servo_bench(tmp_path, "delay_ms: 5", "delay_ms")


def test_all_logs_are_used_if_the_budget_allows(bench: Bench):
    logs = [servo_log(swings(4, 1, 2), name=f"log {k}") for k in range(5)]
    used, rest = select_logs(bench, logs, 10**6)
    assert used == logs
    assert rest == []


@pytest.mark.parametrize("fast", [0, 3, 11])
def test_the_fastest_log_is_always_used(bench: Bench, fast: int):
    goals = [swings(4, 1.0, 6.0 if k == fast else 1.0) for k in range(12)]
    logs = [servo_log(goal, goal, f"log {k}") for k, goal in enumerate(goals)]
    used, rest = select_logs(bench, logs, 3 * len(logs[0]) * bench.substeps * 2)
    assert f"log {fast}" in [log.name for log in used]
    assert 1 < len(used) < 12
    assert {log.name for log in used} | {log.name for log in rest} == {log.name for log in logs}
    again, _ = select_logs(bench, logs, 3 * len(logs[0]) * bench.substeps * 2)
    assert [log.name for log in again] == [log.name for log in used]


def test_the_fastest_part_of_a_long_log_is_used(bench: Bench):
    goal = np.concatenate([swings(60, 0.5, 1.0), swings(10, 1.0, 6.0)])
    used, rest = select_logs(bench, [servo_log(goal, goal)], int(LONGEST_S * 50) * bench.substeps * 2)
    assert all(len(piece) < 1.2 * LONGEST_S * 50 for piece in used)
    fastest = max(np.abs(np.diff(piece.columns["state"][:, 0])).max() for piece in used)
    assert fastest > 0.8 * np.abs(np.diff(swings(10, 1.0, 6.0))).max()
    assert rest == []


def test_every_setting_of_the_logs_is_used():
    bench = xl330()
    asked = [command(0, kp).select(slice(0, 300)) for kp in (100, 100, 100, 100, 400, 100)]
    logs = logs_of_truth(bench, {}, seed=1, asked=asked)
    used, _ = select_logs(bench, logs, 800)
    assert {log.constants["kp"] for log in used} == {100, 400}


def test_pieces_of_a_log_are_left_out_together():
    logs = [servo_log(swings(1, 1, 1), name=name) for name in ("a", "a", "b", "c", "d", "d")]
    assert folds(logs) == [[0, 1], [2], [3], [4, 5]]
