"""A user's story with a robot on wheels: generate, train, improve, evaluate, promote, deploy; and other policies."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import twinloop as tl
from twinloop.cli import main
from twinloop.errors import CheckpointError, UsageError
from twinloop.gate import load_evaluation

DRIVE = """\
scene: {robot: diff_drive, task: go_to_goal, lidar_rays: 16}
randomization:
  sensing: {lidar_noise_share: [0, 0.01]}
  environment: {room_size_m: [4, 5], furniture_count: [0, 2.99]}
environment: {time_limit_s: 6}
"""
# Rules that a hardly trained policy can pass.
EASY = "validated: {episodes: 2, success: 0, harm: 1, regress: 1}\n"

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.mark.slow
def test_from_a_config_to_a_validated_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    Path("drive.yaml").write_text(DRIVE)
    Path("rules.yaml").write_text(EASY)
    assert main(["generate", "drive.yaml", "--episodes", "6", "--out", "datasets/drive"]) == 0
    trained = tl.train(
        "datasets/drive", "policies/cloned", steps=10, settings={"executed": 1, "horizon": 1, "width": 32}
    )
    assert trained.card.space.inputs[0].name == "observation.nearness"
    capsys.readouterr()
    improve = ["reinforce", "drive.yaml", "--iterations", "1", "--envs", "4", "--steps", "4", "--threads", "1"]
    assert main([*improve, "--from", "policies/cloned", "--out", "policies/tuned", "--films", "0", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"way_gain", "touched"} <= set(report["policies"][0]["reward_terms"])

    evaluate = ["evaluate", "policies/tuned", "--episodes", "3", "--workers", "1", "--out", "evaluations/tuned"]
    assert main(evaluate) == 0
    evaluation = load_evaluation(Path("evaluations/tuned"))
    assert set(evaluation.failures) <= {"collided", "stuck", "timeout"}
    assert {rates.column for rates in evaluation.parameters} >= {"furniture_count", "lidar_noise_share"}
    assert Path("evaluations/tuned/report.html").is_file()
    promotion = tl.promote("policies/tuned", to="validated", rules="rules.yaml", evaluations="evaluations/tuned")
    assert promotion.reached == "validated", [step.decision for step in promotion.steps]

    Path("unseen.yaml").write_text(DRIVE + "rollout: {seed: 7}\n")
    deployed = tl.deploy("policies/tuned", "twin:unseen.yaml", "runlogs/drive", episodes=3)
    log = tl.Dataset.open("runlogs/drive").attempts()
    # An evaluation with the config's own seed has the same episodes.
    same = tl.evaluate("policies/tuned", "unseen.yaml", episodes=3, seed=7, workers=1, out="evaluations/same")
    known = np.isin(same.outcomes.verdict, ["accepted", "task_failed"])
    assert deployed.tallies[0].success.trials == known.sum()
    for place in np.flatnonzero(known):
        assert log["outcome"][place].as_py() == ("success" if same.outcomes.success[place] else "failure")
        assert log["failure"][place].as_py() == same.outcomes.failure[place]
        assert log["duration_s"][place].as_py() == pytest.approx(same.outcomes.duration_s[place], abs=0.11)

    Path("walk.yaml").write_text("scene: {robot: quadruped}\n")
    with pytest.raises(CheckpointError, match="does not fit"):
        tl.deploy("policies/tuned", "twin:walk.yaml", "runlogs/other", episodes=1)
    with pytest.raises(UsageError, match="whose task is go_to_goal"):
        tl.deploy("policies/tuned", "twin:drive.yaml", "runlogs/other", episodes=1, task="stack")
    assert not Path("runlogs/other").exists()
    with pytest.raises(CheckpointError, match=r"does not fit the quadruped(.|\n)*robot"):
        tl.evaluate("policies/tuned", "walk.yaml", episodes=1, workers=1, out="evaluations/other")
