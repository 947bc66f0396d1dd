"""The commands on the worth of data, as a user runs them: value, train --weights, mix, and their refusals."""

import json
from pathlib import Path

import pytest

from tests.learn.demonstrated import reaching
from twinloop.cli.command_line import run_command_line

SMALL = ("--set", "width=32", "--set", "depth=1", "--set", "horizon=4", "--set", "executed=2", "--threads", "1")


def run(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    code = run_command_line([*map(str, words), "--json"])
    return json.loads(capsys.readouterr().out.splitlines()[-1]) | {"code": code}


def test_episodes_are_valued_and_the_best_are_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    data = reaching(tmp_path / "data", episodes=16, seed=1)
    goal = reaching(tmp_path / "goal", episodes=4, seed=2, source="real")
    policy, weights = tmp_path / "policy", tmp_path / "weights.json"
    run(capsys, "train", data, "--steps", 20, *SMALL, "--out", policy)
    valued = run(
        capsys, "value", data, "--policy", policy, "--on", goal, "--keep", 0.25, "--threads", 1, "--out", weights
    )
    assert valued["datasets"] == [{**valued["datasets"][0], "path": "data", "episodes": 16, "kept": 4}]
    trained = run(capsys, "train", data, "--weights", weights, "--steps", 10, *SMALL, "--out", tmp_path / "chosen")
    assert trained["data"][0]["episode_weights"] == valued["digest"]
    assert trained["data"][0]["episodes"] == 4
    refused = run(capsys, "train", goal, "--weights", weights, "--steps", 10, *SMALL, "--out", tmp_path / "other")
    assert refused["code"] != 0
    assert "has no weights for goal" in refused["error"]


def test_the_mix_is_proposed_with_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sim = reaching(tmp_path / "sim", episodes=12, seed=1)
    real = reaching(tmp_path / "real", episodes=6, seed=2, source="real")
    words = ("mix", sim, real, "--folds", 2, "--steps", 15, "--threads", 1, "--out", tmp_path / "mix")
    proposed = run(capsys, *words, "--shares", "0,0.5,1")
    assert [point["share"] for point in proposed["points"]] == [0.0, 0.5, 1.0]
    assert "simulated" in Path(proposed["page"]).read_text(encoding="utf-8")
    refused = run(capsys, *words, "--shares", "some")
    assert "numbers from 0 to 1 with commas were expected" in refused["error"]


def test_a_discriminator_needs_a_run_config_and_a_policy_belongs_to_it(capsys: pytest.CaptureFixture[str]):
    bench = "examples/xl330_bench.yaml"
    refused = run(capsys, "calibrate", bench, "--logs", "logs", "--by", "discriminator")
    assert "needs a run config as TWIN" in refused["error"]
    refused = run(capsys, "calibrate", bench, "--logs", "logs", "--policy", "policies/first")
    assert "belongs to --by discriminator" in refused["error"]
