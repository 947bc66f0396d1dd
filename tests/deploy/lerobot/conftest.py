"""Config files of the simulated arm."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

JOINTS = {
    "shoulder": {"given": "degrees", "position": [-1.5, 1.5], "velocity": 6.0, "acceleration": 90.0,
                 "effort": "hardware", "home": 0.0},
    "elbow": {"given": "degrees", "direction": -1, "zero": 0.2, "position": [-1.5, 1.5], "velocity": 6.0,
              "acceleration": 90.0, "effort": "hardware", "home": 0.5},
    "gripper": {"given": "0..100", "ends": [0.0, 0.08], "unit": "m", "position": [0.0, 0.08], "velocity": 1.0,
                "acceleration": 20.0, "effort": "hardware", "home": 0.04},
}  # fmt: skip


def content(**changes) -> dict:
    values = {
        "model": "servo_arm",
        "rate_hz": 50,
        "robot": {"type": "tests.deploy.lerobot.servo_arm:ServoArm", "config": {"seed": 3}},
        "teleoperator": {"type": "tests.deploy.lerobot.servo_arm:ScriptedLeader"},
        "joints": {name: dict(joint) for name, joint in JOINTS.items()},
        "workspace_m": "hardware",
        "instruction": "wave",
        "conditions": {"object": "nothing", "light": "dim"},
        "outcome": "human",
        "homing_s": 0.1,
        "episode_s": 5,
    }
    return {**values, **changes}


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """A file `arm.yaml` with these changes."""

    def written(**changes) -> Path:
        path = tmp_path / "arm.yaml"
        path.write_text(yaml.safe_dump(content(**changes), sort_keys=False))
        return path

    return written
