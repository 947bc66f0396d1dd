"""A user's story with a robot with legs: train by reinforcement, evaluate, promote, deploy to the twin."""

import json
from pathlib import Path

import pytest
import torch

import twinloop as tl
from twinloop.cli import main
from twinloop.randomize.parameter import GAPS

WALK = """\
scene: {robot: quadruped}
randomization: {physics: {payload_kg: [0, 1]}}
environment: {time_limit_s: 1}
"""
# Rules that a hardly trained policy can pass.
EASY = "validated: {episodes: 2, success: 0, harm: 1, regress: 1}\n"

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.mark.slow
def test_from_a_config_to_a_robot_that_walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    Path("walk.yaml").write_text(WALK)
    Path("unseen.yaml").write_text(WALK + "rollout: {seed: 7}\n")
    Path("rules.yaml").write_text(EASY)
    train = ["reinforce", "walk.yaml", "--iterations", "2", "--envs", "8", "--steps", "8", "--threads", "1"]
    assert main([*train, "--out", "policies/walk", "--films", "0"]) == 0
    evaluation = tl.evaluate("policies/walk", "unseen.yaml", episodes=3, seed=7, workers=1, out="evaluations/walk")
    promotion = tl.promote("policies/walk", to="validated", rules="rules.yaml", evaluations="evaluations/walk")
    assert promotion.reached == "validated", [step.decision for step in promotion.steps]

    deployed = tl.deploy("policies/walk", "twin:unseen.yaml", "runlogs/walk", episodes=8)
    log = tl.Dataset.open("runlogs/walk")
    rows = log.attempts().to_pylist()
    # The episodes of an evaluation with the config's seed.
    outcomes = evaluation.outcomes
    assert [row["outcome"] == "success" for row in rows][:3] == outcomes.success.tolist()
    assert [row["failure"] for row in rows][:3] == outcomes.failure.tolist()
    assert deployed.tallies[0].success.trials == 8
    names = {feature.name for feature in log.header.features}
    assert {"observation.imu", "observation.command", "observation.environment_state", "next.reward"} <= names

    cache = ["--cells", "2", "--episodes", "4", "--cache", "banks", "--workers", "1", "--out", "diagnoses/walk"]
    assert main(["diagnose", "runlogs/walk", "--twin", "walk.yaml", "--policy", "policies/walk", *cache]) == 0
    report = json.loads(Path("diagnoses/walk/report.json").read_text())
    assert {finding["gap"] for finding in report["findings"]} == set(GAPS)
    assert report["subject"]["robot"] == "quadruped"
    assert Path("diagnoses/walk/report.html").stat().st_size > 10_000
