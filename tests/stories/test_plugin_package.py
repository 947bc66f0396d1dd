"""The package in examples/plugin is installed beside Twinloop, and its objects are used like built-in ones."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CELL = """\
scene: {robot: shifted_panda, task: lift}
randomization:
  physics:
    object_mass_kg: [0.05, 0.2]
    hand_mass_kg: [0.6, 1.0]
rollout: {parallel_envs: 16, episodes_per_env: 2}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that finds the installed example package."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "plugin", folder / "source")  # building leaves files in the source folder
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--target", folder / "site", folder / "source"],
        check=True, capture_output=True,
    )  # fmt: skip
    paths = [str(folder / "site"), str(ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "XDG_STATE_HOME": str(folder / "state")}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cell")
    (folder / "cell.yaml").write_text(CELL)
    return folder


def command(*words: str, cwd: Path, env: dict[str, str]) -> dict:
    """Run a command with --json; return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *words, "--json"], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_one_plugin_of_each_kind_is_used(environment: dict[str, str], workspace: Path):
    generated = command(
        "generate", "cell.yaml", "--episodes", "32", "--executor", "serial", "--out", "data",
        cwd=workspace, env=environment,
    )  # fmt: skip
    assert generated["accepted"] > 16
    output = command(
        "query", "data",
        'select min("draw/hand_mass_kg") as low, max("draw/hand_mass_kg") as high, max("check/jerky_command") as jerk, '
        'any_value("version/twinloop-example") as version, any_value(task) as task from attempts',
        cwd=workspace, env=environment,
    )  # fmt: skip
    (row,) = output["rows"]
    low, high, jerk, version, task = row.values() if isinstance(row, dict) else row
    assert 0.6 <= low < 0.7
    assert 0.9 < high <= 1.0
    assert 0 < jerk < 0.5
    assert (version, task) == ("1.0.0", "lift the cube")
    trained = command(
        "train", "data", "--policy", "linear", "--steps", "5", "--out", "policy", cwd=workspace, env=environment
    )
    assert trained["policy"] == "linear"
    deployed = command(
        "deploy", "policy", "--robot", "shaky:cell.yaml", "--task", "lift", "--episodes", "1", "--out", "log",
        cwd=workspace, env=environment,
    )  # fmt: skip
    assert deployed["fresh"] == 1


def test_a_plugin_row_is_validated_listed_and_documented(environment: dict[str, str], workspace: Path):
    rows = command("parameters", cwd=workspace, env=environment)["parameters"]
    assert "hand_mass_kg" in [row["name"] for row in rows]
    (workspace / "wrong.yaml").write_text(CELL.replace("[0.6, 1.0]", "[600, 1000]"))
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", "explain", "wrong.yaml", "--no-estimate"],
        cwd=workspace, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "hand_mass_kg" in done.stderr
    assert "the mass of the hand in kg, plausible from 0.05 to 3" in done.stderr
    script = "import runpy; print(runpy.run_path('docs/reference_pages.py')['parameters_page']())"
    page = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    assert "`hand_mass_kg`" in page.stdout


def test_installing_a_plugin_leaves_the_draws_of_every_other_row_as_they_were(environment: dict[str, str]):
    script = (
        "from twinloop.randomize.draw import Sampler; from twinloop.randomize.distribution import Uniform; "
        "draws = Sampler({'object_mass_kg': Uniform(0.05, 0.4), 'friction_coefficient': Uniform(0.2, 1.1)}, seed=3)"
        ".draw(0, 64); print([draws.values[name].tolist() for name in ('object_mass_kg', 'friction_coefficient')])"
    )
    with_plugin, without = (
        subprocess.run([sys.executable, "-c", script], env=env, check=True, capture_output=True, text=True).stdout
        for env in (environment, {**environment, "PYTHONPATH": str(ROOT)})
    )
    assert with_plugin == without
