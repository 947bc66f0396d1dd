"""Regression test on real logs, if they are present. `benchmarks/reality.py` measures the figures."""

import numpy as np
import pytest

from tests.calibrate.made import DATA, EXAMPLES
from twinloop.calibrate.bench import load_bench
from twinloop.calibrate.replay import replay
from twinloop.calibrate.sweep import Where
from twinloop.cli.replay import logs_of


def test_the_arm_as_shipped_is_nearer_to_its_logs_than_its_commands_are():
    if not (DATA / "so101_table_cleanup").exists():
        pytest.skip("no so101_table_cleanup beside the project")
    bench = load_bench(EXAMPLES / "so101_cell.yaml")
    logs = [log.select(slice(0, 300)) for log in logs_of(bench, DATA / "so101_table_cleanup")[:12:4]]
    result = replay(bench, logs, where=Where(1))
    commanded = np.concatenate([log.columns["action"] for log in logs])
    measured = np.concatenate([log.columns["observation.state"] for log in logs])
    left = np.sqrt(np.mean((commanded - measured) ** 2, axis=0))
    for place, (name, error) in enumerate(result.errors.items()):
        assert error.rmse < 0.9 * left[place], name


def test_the_servo_as_shipped_swings_like_the_real_one():
    if not (DATA / "xl330_pendulum").exists():
        pytest.skip("no xl330_pendulum beside the project")
    bench = load_bench(EXAMPLES / "xl330_bench.yaml")
    result = replay(bench, logs_of(bench, DATA / "xl330_pendulum"), where=Where(1))
    assert len(result.by_log) == 12
    assert result.errors["position"].mae < 0.1
