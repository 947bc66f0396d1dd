"""The monitor: early alarms after a drop, few false alarms, and the same state after a round trip."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from twinloop.gate.statistics.monitor import Monitor, MonitoredSignal, limit_watch, success_watch

ROOT = Path(__file__).parents[3]
WATCHES = (success_watch(57, 60), limit_watch("intervention", 0.09, rise=0.15))


def after(monitor: Monitor, *outcomes: float) -> Monitor:
    for value in outcomes:
        monitor = monitor.update({"success": value})
    return monitor


def test_false_alarms_are_as_rare_as_promised():
    """The worst case: rates exactly at the expected values, with several signals."""
    rng = np.random.default_rng(0)
    series, horizon, rare = 200, 200, 400.0
    watch = MonitoredSignal("success", 0.9, "lower", 0.7)
    gains = {value: watch.gains(value) for value in (0.0, 1.0)}
    wealth, fooled = np.zeros((series, len(watch.bets.shares))), np.zeros(series, bool)
    for _ in range(horizon):
        good = rng.random(series) < 0.9
        wealth = (wealth + 1) * np.where(good[:, None], gains[1.0], gains[0.0])
        fooled |= wealth @ watch.bets.weights >= rare
    bound = horizon / rare
    assert fooled.mean() <= bound
    assert fooled.mean() > 0  # or the test could not fail


def test_the_benchmark_watches_as_the_monitor_does():
    spec = spec_from_file_location("monitoring", ROOT / "benchmarks" / "monitoring.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    values = (np.random.default_rng(6).random((8, 80)) < 0.7).astype(float)
    first = benchmark.alarms(values, WATCHES[0], 2 * 2000.0)
    assert first.tolist() == [after(Monitor(WATCHES), *row).alarms.get("success", 0) for row in values]
    assert (first > 0).any()


def test_a_drop_is_noticed_and_the_worse_the_sooner():
    rng = np.random.default_rng(1)
    took = []
    for rate in (0.75, 0.5, 0.0):
        monitor = after(Monitor(WATCHES), *np.ones(30))
        assert not monitor.alarms
        for value in (rng.random(400) < rate).astype(float):
            monitor = monitor.update({"success": value, "intervention": 0.0})
            if monitor.alarms:
                break
        assert monitor.alarms == {"success": monitor.episodes}
        took.append(monitor.episodes - 30)
    assert took == sorted(took, reverse=True)
    assert took[-1] <= 10


def test_a_monitor_continues_from_json():
    outcomes = (np.random.default_rng(2).random(60) < 0.6).astype(float)
    whole = after(Monitor(WATCHES), *outcomes)
    half = after(Monitor(WATCHES), *outcomes[:25])
    again = Monitor.from_json(json.loads(json.dumps(half.to_json(), allow_nan=False)))
    assert again == half
    assert after(again, *outcomes[25:]) == whole


def test_an_alarm_stays_and_the_wealth_stays_finite():
    monitor = after(Monitor(WATCHES), *np.zeros(600))
    first = monitor.alarms["success"]
    assert after(monitor, *np.ones(50)).alarms["success"] == first
    assert all(np.isfinite(state.wealth).all() for state in monitor.states)
    json.dumps(monitor.to_json(), allow_nan=False)
    assert monitor.closeness["success"] == 1
    assert monitor.closeness["intervention"] == 0


def test_a_missing_value_changes_only_the_episode_count():
    monitor = Monitor(WATCHES).update({"success": None})
    assert monitor.episodes == 1
    assert monitor.states == Monitor(WATCHES).states
    assert monitor.states[0].mean is None


def test_a_rise_above_the_expected_value_is_detected():
    monitor = Monitor((limit_watch("safety", 0.05, rise=0.2),))
    for _ in range(100):
        monitor = monitor.update({"safety": 0.0})
    assert not monitor.alarms
    for _ in range(30):
        monitor = monitor.update({"safety": 0.4})
    assert 100 < monitor.alarms["safety"] < 115


def test_promises_are_bounds_not_the_counts():
    assert success_watch(57, 60).expected < 0.95
    assert limit_watch("x", 0.0, rise=0.2).expected > 0
    assert success_watch(0, 0).expected < 0.01
    assert limit_watch("x", 1.0, rise=0.2).expected < 1


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.1, float("inf")])
def test_impossible_values_are_refused(wrong: float):
    with pytest.raises(ValueError, match=r"success: .* in episode 1; a number from 0 to 1"):
        Monitor(WATCHES).update({"success": wrong})


def test_other_mistakes_are_refused():
    with pytest.raises(ValueError, match="speed: not monitored; signals: intervention, success"):
        Monitor(WATCHES).update({"speed": 0.5})
    with pytest.raises(ValueError, match="with different names"):
        Monitor((WATCHES[0], WATCHES[0]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        MonitoredSignal("success", 1.0, "lower")
    broken = Monitor(WATCHES).to_json()
    broken["watches"][0]["money"] = [1.0]
    with pytest.raises(ValueError, match="amounts of wealth"):
        Monitor.from_json(broken)
