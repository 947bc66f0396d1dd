"""Deploying a good policy on the twin and on a rehearsal cell, and its log."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Simulate
from tests.deploy.conftest import need_drake
from tests.deploy.neighbour_policy import PROGRAM
from tests.learn.neighbours import Neighbours
from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.session import DeployResult, deploy
from twinloop.twin.twin import Twin


@pytest.fixture(scope="module")
def policy(simulate: Simulate, twin: Twin, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "neighbours.npz"
    Neighbours.of(simulate(60), twin).save(path)
    return path


def run(policy: Path, robot: str, out: Path, **changes) -> DeployResult:
    options = {"episodes": 3, "program": PROGRAM, "stop_file": out.parent / "stop", **changes}
    return deploy({"": policy}, robot, out, **options)


def commands(deployed: DeployResult) -> dict[int, np.ndarray]:
    dataset = Dataset.open(deployed.path)
    attempts = dataset.attempts().to_pylist()
    return {row["scene"]: dataset.episode(attempt=row["attempt"])["command"] for row in attempts}


@pytest.fixture(scope="module")
def on_twin(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> DeployResult:
    return run(policy, "twin", tmp_path_factory.mktemp("logs") / "twin")


def test_a_good_policy_succeeds_in_the_twin(on_twin: DeployResult):
    (tally,) = on_twin.tallies
    assert tally.success.successes >= 2
    rows = Dataset.open(on_twin.path).attempts().to_pylist()
    done = [row for row in rows if row["outcome"] == "success"]
    assert {row["last_phase"] for row in done} <= {"release", "retreat"}
    phases = Dataset.open(on_twin.path).episode(attempt=done[0]["attempt"])["phase"]
    assert (np.diff(phases) >= 0).all()
    assert phases[0] == 0
    assert phases[-1] >= 6


def test_in_lockstep_one_worker_and_two_give_the_same_episodes(on_twin: DeployResult, policy: Path, tmp_path: Path):
    alone, together = commands(on_twin), commands(run(policy, "twin", tmp_path / "log", workers=2))
    assert alone.keys() == together.keys()
    for scene, sent in alone.items():
        np.testing.assert_array_equal(together[scene], sent)


def test_a_rehearsal_cell_that_dies_aborts_one_episode(policy: Path, tmp_path: Path):
    need_drake()
    cell = tmp_path / "cell.yaml"
    cell.write_text("fault: {kind: vanishes, episode: 0, period: 10}\n")
    config = DeployConfig(episode_timeout_s=1.0)
    done = run(policy, f"rehearsal:{cell}", tmp_path / "log", episodes=2, config=config)
    rows = Dataset.open(done.path).attempts().to_pylist()
    assert [row["outcome"] for row in rows] == ["aborted", "failure"]
    assert [row["length"] for row in rows] == [10, 25]
    assert "exit code 3" in rows[0]["outcome_detail"]
    assert done.tallies[0].aborted == {"robot_fault": 1}


def test_the_command_line_refuses_invalid_options(tmp_path: Path, capsys: pytest.CaptureFixture):
    stop = tmp_path / "stop"

    def command_output(*words: str) -> tuple[int, dict]:
        code = main(["deploy", *words, "--robot", "twin", "--stop-file", str(stop), "--json"])
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])

    code, output = command_output(str(tmp_path / "nothing"))
    assert code == 1
    assert "nothing" in output["error"]
    code, output = command_output("x", "--control", "y", "--arm", "control")
    assert (code, "cannot be combined with --control" in output["error"]) == (2, True)
    code, output = command_output("x", "--condition", "dim")
    assert (code, "NAME=VALUE" in output["error"]) == (2, True)
    code, output = command_output("x", "--outcome", "ask")
    assert (code, "terminal" in output["error"]) == (2, True)
