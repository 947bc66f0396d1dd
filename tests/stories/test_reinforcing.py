"""A user's story: train a policy by reinforcement, evaluate it, promote it, export it and deploy it to the twin."""

import json
from pathlib import Path

import pytest
import torch

import twinloop as tl
from twinloop.cli import main

CELL = """
scene: {robot: franka_panda, task: push_to_goal}
randomization: {physics: {object_position_noise_cm: [-1, 1]}}
rollout: {control_hz: 10}
environment: {action_scale: 0.3, time_limit_s: 3}
"""
# Rules that a hardly trained policy can pass.
EASY = "validated: {episodes: 2, success: 0, harm: 1, regress: 1}\n"

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.mark.slow
def test_from_a_config_to_a_robot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    Path("cell.yaml").write_text(CELL)
    command = ["reinforce", "cell.yaml", "--iterations", "3", "--envs", "8", "--steps", "8", "--threads", "1"]
    assert main([*command, "--out", "policies/push", "--films", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["policies"][0]["iterations"] == 3
    assert "phases_gain" in report["policies"][0]["reward_terms"]
    assert len(report["films"]) <= 1  # none on a machine without OpenGL

    evaluation = tl.evaluate("policies/push", episodes=2, workers=1, out="evaluations/push")
    assert evaluation.success.trials == 2  # the config is found beside the checkpoint
    Path("rules.yaml").write_text(EASY)
    promotion = tl.promote("policies/push", to="validated", rules="rules.yaml", evaluations="evaluations/push")
    assert promotion.reached == "validated", [step.decision for step in promotion.steps]
    assert main(["export", "policies/push", "--onnx", "push.onnx"]) == 0
    assert Path("push.onnx").is_file()

    deployed = tl.deploy(
        "policies/push", "twin:cell.yaml", "runlogs/push", episodes=1, task="push_to_goal", episode_timeout_s=1.0
    )  # fmt: skip
    assert deployed.tallies[0].success.trials == 1
    # The log is a LeRobot dataset with rewards.
    assert {"next.reward", "next.success"} <= {
        feature.name for feature in tl.Dataset.open("runlogs/push").header.features
    }
    card = tl.Checkpoint.load("policies/push").card
    assert card.data[0]["kind"] == "reinforcement"
    assert card.data[0]["config_digest"] == tl.load_config("cell.yaml").digest
