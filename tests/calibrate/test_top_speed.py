"""A servo reaches its no-load speed at any lag, and a fit cannot put it below the logged speed."""

from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import command, logs_of_truth, xl330
from tests.calibrate.servo_bench import RATE_HZ, servo_bench, servo_log, simulated_log, swings
from twinloop.calibrate.check import Checked
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.top_speed import speed_ceilings, with_speed_floor
from twinloop.calibrate.track import track_of


@pytest.mark.parametrize("braking", [0.6, 2.0])
def test_the_lag_of_a_servo_does_not_limit_its_speed(tmp_path: Path, braking: float):
    """Lag and top speed were one number: torque limit over braking, here 1.5 and 0.45 rad/s."""
    parameters = f"braking_nms_rad: {braking}, torque_limit_nm: 0.9, no_load_speed_rad_s: 5, coulomb_nm: 0"
    bench = servo_bench(tmp_path, parameters, "delay_ms")
    goal = np.concatenate([np.zeros(25), np.full(100, 6.0)])
    position = simulated_log(bench, goal, {}).columns["state"][:, 0]
    assert np.diff(position).max() * RATE_HZ > 4.0


@pytest.mark.slow
def test_a_fit_reaches_the_fastest_logged_speed(tmp_path: Path):
    parameters = (
        "braking_nms_rad: {value: 1.2, high: 10}, torque_limit_nm: 1, no_load_speed_rad_s: {value: 1, low: 0.5}"
    )
    bench = servo_bench(tmp_path, parameters, "braking_nms_rad, delay_ms")
    goals = [swings(4, 1.0, 1.0), swings(4, 1.2, 4.0)]
    truth = {"swing.no_load_speed_rad_s": 9.0, "swing.braking_nms_rad": 1.0}
    logs = [simulated_log(bench, goal, truth, f"log {k}") for k, goal in enumerate(goals)]
    tracks = [track_of(bench, log) for log in logs]
    assert "the fitted servo reaches" in speed_ceilings(bench, tracks, {})[0]
    fastest = max(float(np.abs(np.diff(log.columns["state"][:, 0])).max()) for log in logs) * RATE_HZ
    floor = with_speed_floor(bench, tracks).variables["swing.no_load_speed_rad_s"]
    assert 0.95 * fastest < floor.low <= floor.value < floor.high
    names = [*bench.fit, "swing.no_load_speed_rad_s"]
    patch = calibrate(bench, Checked(tuple(logs), (), {}), names, seed=0, where=Where(1)).patch
    values = {
        **{name: variable.value for name, variable in with_speed_floor(bench, tracks).variables.items()},
        **patch.values,
    }
    assert values["swing.no_load_speed_rad_s"] >= 0.95 * fastest
    assert speed_ceilings(with_speed_floor(bench, tracks), tracks, patch.values) == []


def test_a_single_encoder_glitch_does_not_count_as_speed(tmp_path: Path):
    bench = servo_bench(tmp_path, "delay_ms: 5", "delay_ms")
    position = swings(4, 0.3, 1.0)
    position[100] += 0.5
    track = track_of(bench, servo_log(position, position))
    assert with_speed_floor(bench, [track]).variables["swing.no_load_speed_rad_s"].low < 8


def test_the_ceiling_of_a_voltage_servo_is_named():
    bench = xl330()
    (log,) = logs_of_truth(bench, {}, seed=1, asked=[command(2, 400)])
    (message,) = speed_ceilings(bench, [track_of(bench, log)], {"pendulum.torque_constant_nm_a": 2.0})
    assert "pendulum: the fitted servo reaches" in message
    assert "torque_constant_nm_a" in message
    assert speed_ceilings(bench, [track_of(bench, log)], {}) == []
