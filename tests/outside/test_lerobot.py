"""lerobot opens our datasets, if it is installed."""

import os
import subprocess
from pathlib import Path

import pytest

from twinloop.pipeline.generate import generate
from twinloop.run.default import embedded_config

ROOT = Path(__file__).parents[2]


def test_lerobot_opens_a_dataset_and_trains_on_it(tmp_path):
    python = os.environ.get("LEROBOT_PYTHON")
    if not python:
        pytest.skip("LEROBOT_PYTHON names no interpreter that has lerobot; docs/learning.md says how to make one")
    generate(embedded_config(), tmp_path / "made", episodes=8, workers=1)
    script = Path(__file__).with_name("lerobot_opens.py")
    done = subprocess.run(
        [python, str(script), str(tmp_path / "made")],
        capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "8 episodes, loss" in done.stdout


def test_lerobot_accepts_our_robot_configs(tmp_path):
    python = os.environ.get("LEROBOT_PYTHON")
    if not python:
        pytest.skip("LEROBOT_PYTHON names no interpreter that has lerobot; docs/hardware.md says how to make one")
    config = (ROOT / "examples" / "so101.yaml").read_text().replace("/dev/ttyACM", str(tmp_path / "no_port"))
    (tmp_path / "so101.yaml").write_text(config)
    script = Path(__file__).with_name("lerobot_drives.py")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [python, str(script), str(tmp_path / "so101.yaml")], capture_output=True, text=True, check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONPATH": paths},
    )  # fmt: skip
    if done.returncode == 3:
        pytest.skip("that interpreter has lerobot without the driver of SO-101 arms: pip install feetech-servo-sdk")
    assert done.returncode == 0, done.stderr
    assert "6 joints, units agree" in done.stdout
