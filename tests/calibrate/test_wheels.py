"""Calibration of a robot on wheels finds the wheels, odometry and lidar of a cell whose truth is known."""

from pathlib import Path

import pytest

import twinloop as tl
from twinloop.calibrate.apply_patch import patched
from twinloop.calibrate.patch import load_patch
from twinloop.calibrate.wheels import calibrate_wheels
from twinloop.cli import main
from twinloop.errors import DatasetError, UsageError
from twinloop.randomize.distribution import Uniform
from twinloop.run.wheels import WheelsConfig

TRUTH = """\
scene: {robot: diff_drive, lidar_rays: 36}
randomization:
  actuation: {wheel_radius_scale: 1.015, track_scale: 0.97}
  sensing:
    odometry_drift_deg_s: 0.15
    lidar_bias_mm: 12
    lidar_noise_share: 0.006
    lidar_dropout_share: 0.03
    lidar_yaw_deg: 1.2
  environment: {furniture_count: 3}
"""
PLAIN = "scene: {robot: diff_drive, lidar_rays: %d}\n"


def config_of(folder: Path, text: str, name: str = "plain.yaml") -> WheelsConfig:
    (folder / name).write_text(text, encoding="utf-8")
    config = tl.load_config(folder / name)
    assert isinstance(config, WheelsConfig)
    return config


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("truth")
    tl.generate(config_of(folder, TRUTH, "truth.yaml"), folder / "logs", episodes=6)
    return folder / "logs"


def test_a_cell_with_known_truth_is_found_and_the_patch_changes_the_config(tmp_path: Path, logs: Path):
    config = config_of(tmp_path, PLAIN % 36)
    out = tmp_path / "wheels.patch.yaml"
    assert main(["calibrate", str(tmp_path / "plain.yaml"), "--logs", str(logs), "--out", str(out)]) == 0
    patch = load_patch(out)
    truth = {
        # In the engine wheels sink into the floor a little, so that they roll by a smaller radius.
        "wheel_radius_scale.left": (1.015, 0.005), "wheel_radius_scale.right": (1.015, 0.005),
        "track_scale": (0.97, 0.005), "odometry_drift_deg_s": (0.15, 0.005), "lidar_yaw_deg": (1.2, 0.3),
        "lidar_bias_mm": (12, 2), "lidar_noise_share": (0.006, 0.001), "lidar_dropout_share": (0.03, 0.01),
    }  # fmt: skip
    for name, (value, within) in truth.items():
        assert patch.fitted[name].value == pytest.approx(value, abs=within), name
        assert patch.fitted[name].low <= patch.fitted[name].value <= patch.fitted[name].high
    assert "wheel_slip_share" in patch.unknown
    better = patched(config, patch)
    assert better.digest != config.digest
    bias = better.randomization["lidar_bias_mm"]
    assert isinstance(bias, Uniform)
    assert bias.support() == pytest.approx(patch.ranges["lidar_bias_mm"])


def test_logs_of_another_lidar_or_too_few_are_refused(tmp_path: Path, logs: Path):
    with pytest.raises(UsageError, match=r"36 rays; scene.lidar_rays of the config is 24"):
        calibrate_wheels(config_of(tmp_path, PLAIN % 24), logs, seed=0)
    few = tmp_path / "few"
    tl.generate(tmp_path / "plain.yaml", few, episodes=2)
    with pytest.raises(DatasetError, match="2 episodes; at least 4"):
        calibrate_wheels(config_of(tmp_path, PLAIN % 24), few, seed=0)
