"""An undisturbed run, as the reference for tests that inject faults into the same run."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

CONFIG = """
scene: {robot: franka_panda, task: pick_and_place}
randomization:
  physics: {object_mass_kg: [0.05, 0.4], friction_coefficient: [0.2, 1.1], object_position_noise_cm: [-2, 2]}
rollout: {parallel_envs: 4, episodes_per_env: 3}
dataset: {shard_episodes: 2}
"""


@dataclass(frozen=True)
class Undisturbed:
    """seconds: duration of the whole command."""

    config: Path
    path: Path
    digest: str
    seconds: float

    def command(self, out: Path) -> list[str]:
        words = ["generate", str(self.config), "--out", str(out), "--workers", "2", "--json"]
        return [sys.executable, "-m", "twinloop", *words]

    def generate(self, out: Path, *, code: int = 0) -> dict:
        return command_output(self.command(out), code=code)


def command_output(command: list[str], *, code: int = 0) -> dict:
    """The last line of a command's output, which must not have a traceback."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "cell.yaml").write_text(CONFIG)
    made = Undisturbed(folder / "cell.yaml", folder / "data", "", 0.0)
    began = time.monotonic()
    digest = made.generate(made.path)["digest"]
    return Undisturbed(made.config, made.path, digest, time.monotonic() - began)
