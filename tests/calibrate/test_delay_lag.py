"""The delay-plus-lag model is fitted exactly and reported together with the twin."""

from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import command, logs_of_truth, xl330
from tests.calibrate.servo_bench import RATE_HZ, servo_bench, servo_log, swings
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import Checked
from twinloop.calibrate.delay_lag import DelayLag, fit_delay_lag, predict
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.replay import replay
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.track import track_of

FINE = 200


def response(goal: np.ndarray, delay_s: float, lag_s: float) -> np.ndarray:
    """Delay and lag by small steps."""
    position, rows = 0.0, [0.0]
    for step in range(1, (len(goal) - 1) * FINE + 1):
        # Half a step early, so that a goal that changes at a step is taken on the right side of it.
        frame = int(max((step - 0.5) / FINE - delay_s * RATE_HZ, 0))
        position += (goal[frame] - position) / (lag_s * RATE_HZ * FINE)
        if step % FINE == 0:
            rows.append(position)
    return np.array(rows)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return servo_bench(tmp_path, "delay_ms: 5", "delay_ms")


@pytest.mark.parametrize(("delay_s", "lag_s"), [(0.0, 0.08), (0.047, 0.06), (0.1, 0.2)])
def test_delay_and_lag_are_found_again(bench: Bench, delay_s: float, lag_s: float):
    goal = swings(6, 1.0, 5.0)
    track = track_of(bench, servo_log(goal, response(goal, delay_s, lag_s)))
    predicted = predict(bench, bench.compared[0], track, DelayLag(delay_s, lag_s))
    np.testing.assert_allclose(predicted, track.measured["angle"], atol=2e-3)
    model = fit_delay_lag(bench, [track])["angle"]
    assert model.delay_s == pytest.approx(delay_s, abs=0.003)
    assert model.lag_s == pytest.approx(lag_s, abs=0.005)


def test_a_replay_reports_the_simple_model_and_the_worst_log_first():
    bench = xl330()
    good = logs_of_truth(bench, {}, seed=3, asked=[command(1, 200)])
    bad = logs_of_truth(bench, {"pendulum.resistance_ohm": 6.0}, seed=3, asked=[command(2, 200)])
    replayed = replay(bench, [*good, *bad], where=Where(1))
    assert list(replayed.by_log) == [bad[0].name, good[0].name]
    assert [trace.log for trace in replayed.traces] == list(replayed.by_log)
    content = replayed.to_json()
    assert content["worst_first"] == [bad[0].name, good[0].name]
    assert content["delay_lag"]["position"]["rmse"] > content["channels"]["position"]["rmse"]
    assert content["delay_lag_by_log"].keys() == content["by_log"].keys()


@pytest.mark.slow
def test_a_servo_that_cannot_follow_the_logs_gives_way_to_the_simple_model(tmp_path: Path):
    """The bounds of its delay are wrong."""
    bench = servo_bench(tmp_path, "delay_ms: {value: 120, low: 100, high: 250}", "delay_ms, braking_nms_rad")
    goals = [swings(4, 0.8, rad_s) for rad_s in (2.0, 4.0, 6.0)]
    logs = [servo_log(goal, response(goal, 0.04, 0.06), f"log {k}") for k, goal in enumerate(goals)]
    patch = calibrate(bench, Checked(tuple(logs), (), {}), bench.fit, seed=0, where=Where(1)).patch
    model = patch.delay_lag["angle"]
    assert model.lag_ms == pytest.approx(60, abs=3)
    assert patch.values["swing.delay_ms"] == pytest.approx(40, abs=3)
    assert any("a delay and a lag predict held-out logs better" in note for note in patch.notes)
    replayed = replay(bench, logs, patch.values, where=Where(1))
    assert replayed.errors["angle"].rmse < 0.02
    assert model.twin_held_out_rmse < 0.02
