"""Open loop: a twin replays its own logs, and differences are in the unit of the log."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.made import NOISE_RAD, command, logs_of_truth, write_json, xl330
from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.logs import Log, read_logs
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import difference, replay
from twinloop.calibrate.sweep import Where
from twinloop.errors import DatasetError

TRUTH = {"pendulum.resistance_ohm": 2.0, "pendulum.coulomb_nm": 0.03}

PENDULUM = """
<mujoco><worldbody><body><joint name="swing" axis="0 1 0"/><geom name="rod" type="capsule" fromto="0 0 0 0 0 -.3"
size=".02"/></body></worldbody><actuator><motor name="motor" joint="swing"/></actuator></mujoco>
"""
PASSIVE = """
twin: {mjcf: thing.xml, timestep_ms: 2}
logs: {format: npz, files: "*.npz", rate_hz: 100}
measured:
  angle: {column: state, elements: [0], joint: swing, unit: °, scale: 0.0174532925}
  speed: {column: state, elements: [1], joint: swing, of: velocity, unit: °/s, scale: 0.0174532925, compared: false}
parameters:
  damping: {field: dof_damping, of: swing, value: 0.01, low: 0, high: 0.1, unit: N·m·s/rad}
"""


@pytest.fixture(scope="module")
def bench() -> Bench:
    return xl330()


def test_a_twin_replays_its_own_log_to_the_noise(bench: Bench):
    logs = logs_of_truth(bench, TRUTH, seed=3)[:2]
    right, wrong = replay(bench, logs, TRUTH, where=Where(1)), replay(bench, logs, where=Where(1))
    assert right.errors["position"].rmse < 8 * NOISE_RAD
    assert wrong.errors["position"].rmse > 5 * right.errors["position"].rmse
    assert wrong.errors["position"].unit == "rad"
    assert len(wrong.over_time["position"]) == 20
    assert set(wrong.by_log) == {log.name for log in logs}


def test_sets_and_logs_do_not_touch_each_other(bench: Bench):
    logs = [command(kind, 200) for kind in range(3)]
    logs[1] = logs[1].select(slice(0, 300))
    together = BenchSimulator(bench, logs, tuple(TRUTH), where=Where(2)).simulate(np.array([[2.0, 0.03], [4.0, 0.0]]))[
        "position"
    ]
    alone = BenchSimulator(bench, logs[1:2], tuple(TRUTH), where=Where(1)).simulate(np.array([[4.0, 0.0]]))["position"]
    np.testing.assert_array_equal(together[1, 1, :300], alone[0, 0])
    assert np.isnan(together[1, 1, 300:]).all()


def test_a_delay_moves_the_answer_smoothly(bench: Bench):
    plant = BenchSimulator(bench, [command(1, 400)], ("pendulum.delay_ms",), where=Where(1))
    positions = plant.simulate(np.array([[10.0], [10.5], [15.0], [20.0]]))["position"][:, 0, :, 0]
    np.testing.assert_allclose(positions[2][200:-1], positions[3][201:], atol=0.02)
    assert 0 < np.abs(positions[1] - positions[0]).max() < np.abs(positions[2] - positions[0]).max() / 4


def test_a_motor_that_is_off_lets_the_weight_swing(bench: Bench):
    off = command(0, 400, off_after_s=1.0)
    position = replay(bench, [off], where=Where(1)).traces[0].simulated["position"][:, 0]
    assert position[200] > 0.4
    assert np.abs(position[-100:]).max() < 0.35


def test_json_logs_come_back_as_they_were(bench: Bench, tmp_path: Path):
    (log, *_) = logs_of_truth(bench, TRUTH, seed=3)
    write_json(log, tmp_path)
    (again,) = read_logs(tmp_path, format="json", files="*.json", rows="entries", time="timestamp", rate_hz=200)
    np.testing.assert_allclose(again.columns["position"], log.columns["position"])
    assert again.constants == log.constants
    with pytest.raises(DatasetError, match="no file matches"):
        read_logs(tmp_path, format="json", files="*.log", rows="entries", time="", rate_hz=200)


def test_without_commands_the_beginning_is_replayed_in_the_units_of_the_log(tmp_path: Path):
    (tmp_path / "thing.xml").write_text(PENDULUM)
    (tmp_path / "thing.yaml").write_text(PASSIVE)
    bench = load_bench(tmp_path / "thing.yaml")
    start = Log("a", np.arange(150) / 100, {"state": np.tile([40.0, 0.0], (150, 1))})
    swung = BenchSimulator(bench, [start], ("damping",), where=Where(1)).simulate(np.array([[0.03]]))["angle"][
        0, 0, :, 0
    ]
    swing_deg = np.rad2deg(swung)
    np.savez(tmp_path / "logs.npz", a=np.column_stack([swing_deg, np.zeros(150)]))
    logs = read_logs(tmp_path, format="npz", files="*.npz", rows="", time="", rate_hz=100)
    assert replay(bench, logs, {"damping": 0.03}, where=Where(1)).errors["angle"].worst < 1e-6
    assert 1 < replay(bench, logs, where=Where(1)).errors["angle"].worst < 60


def test_a_log_without_a_needed_constant_is_named(bench: Bench):
    log = command(0, 100)
    with pytest.raises(DatasetError, match="made_0_kp100: has no value 'kp'"):
        replay(bench, [replace(log, constants={"vin": 7.4})], where=Where(1))
    columns = {name: column for name, column in log.columns.items() if name != "position"}
    with pytest.raises(DatasetError, match="has no column 'position'"):
        replay(bench, [replace(log, columns=columns)], where=Where(1))


def test_turns_differ_by_the_angle_between_them(bench: Bench):
    turn = replace(bench.measured[0], of="turn", elements=(0, 1, 2, 3))
    half = np.deg2rad(30) / 2
    a, b = np.array([[np.cos(half), np.sin(half), 0, 0]]), np.array([[1.0, 0, 0, 0]])
    np.testing.assert_allclose(difference(turn, a, b), [[30, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(difference(turn, -a, b), [[30, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(difference(turn, a, a), np.zeros((1, 3)), atol=1e-9)
