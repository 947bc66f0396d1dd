"""Lerobot itself takes our datasets, where it is installed."""

import os
import subprocess
from pathlib import Path

import pytest

from twinloop.pipeline.embedded import embedded_config
from twinloop.pipeline.generate import generate


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
