"""Logs of the twin's own sensors at rest: drawn values are recovered, row by row, and written as a patch."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.calibrate.sensors.scans import plane_scan, write_pcd
from twinloop.calibrate.patch import load_patch
from twinloop.cli import main
from twinloop.observe.sensor_errors import errors_of
from twinloop.randomize.distribution import Constant
from twinloop.randomize.draw import Sampler
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.twin import Twin

TRUTH = {
    "encoder_noise_mrad": 0.9, "encoder_step_mrad": 1.534, "force_noise_n": 0.12, "torque_noise_nm": 0.006,
    "force_drift_n": 0.7, "accelerometer_noise_m_s2": 0.03, "gyro_noise_mrad_s": 1.3, "imu_walk_per_s": 0.4,
}  # fmt: skip
LOGS = 6


@pytest.fixture(scope="module")
def at_rest(twin: Twin, tmp_path_factory) -> Path:
    """What an arm that stands still would log, in six episodes."""
    whole = assemble(twin.robot, twin.task, twin.object, features=Features(wrist_sensors=True))
    draws = Sampler({name: Constant(value) for name, value in TRUTH.items()}, seed=3).draw(0, LOGS)
    arrays = {}
    for row in range(LOGS):
        errors = errors_of(whole, draws, row, seed=3)
        place = np.linspace(-1, 1, 7) + errors["position/offset"]
        step = errors["position/step"]
        joints = step * np.round(place / step)
        inertial = errors["inertial/offset"] + [0, 0, 9.81, 0, 0, 0]
        arrays[f"log{row}"] = np.column_stack([joints, errors["wrench/offset"], inertial[:, 3:], inertial[:, :3]])
    folder = tmp_path_factory.mktemp("static")
    np.savez(folder / "rest.npz", **arrays)
    example = Path("examples/static_sensors.yaml").read_text(encoding="utf-8")
    hz = 1 / whole.control_period_s
    output = example.replace("rate_hz: 100", f"rate_hz: {hz:g}").replace("control_hz: 25", f"control_hz: {hz:g}")
    (folder / "sensors.yaml").write_text(output, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_every_row_is_found_again(at_rest: Path, capsys):
    out = at_rest / "patch.yaml"
    logs = str(at_rest / "rest.npz")
    assert main(["calibrate", str(at_rest / "sensors.yaml"), "--logs", logs, "--out", str(out), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    patch = load_patch(out)
    assert patch.ranges.keys() == TRUTH.keys()
    for name, truth in TRUTH.items():
        low, high = patch.ranges[name]
        # The ranges hold the truth, with a hundredth of room for the one of ten that misses by a hair.
        assert 0.99 * low <= truth <= 1.01 * high, name
        assert high - low < 1.1 * truth, f"{name}: a range of {low} to {high} says nothing"
    assert "joints.encoder_bias_mrad" in output["unknown"]
    assert patch.provenance.logs["log0"]


def test_a_log_of_something_that_moves_is_refused(at_rest: Path, tmp_path, capsys):
    with np.load(at_rest / "rest.npz") as arrays:
        moving = arrays["log0"].copy()
    moving[100:110, 13:] += np.linspace(0, 3, 10)[:, None]
    np.savez(tmp_path / "moving.npz", log0=moving)
    words = ["calibrate", str(at_rest / "sensors.yaml"), "--logs", str(tmp_path), "--out", str(tmp_path / "p.yaml")]
    assert main(words) == 1
    assert "not at rest" in capsys.readouterr().err


def test_scans_become_rows(tmp_path, capsys):
    rng = np.random.default_rng(5)
    for number in range(2):
        write_pcd(tmp_path / f"{number}.pcd", plane_scan(0.8, 2.0, rng), "binary")
    out = tmp_path / "patch.yaml"
    words = ["calibrate", "examples/kinect_scans.yaml", "--logs", str(tmp_path), "--out", str(out), "--json"]
    assert main(words) == 0
    output = json.loads(capsys.readouterr().out)
    low, high = output["randomization"]["depth_edge_noise_px"]
    assert low <= 0.8 <= high
    assert output["fitted"]["depth.depth_quantisation_mm"]["value"] == pytest.approx(2.0, rel=0.01)
