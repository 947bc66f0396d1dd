"""A policy is trained, and evaluated on held-out draws."""

import json
import re
from pathlib import Path

import pytest

from twinloop.cli import main
from twinloop.gate import load_evaluation

pytest.importorskip("torch")
pytest.importorskip("safetensors")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a little data, and a policy that has hardly looked at it."""
    folder = tmp_path_factory.mktemp("evaluating")
    assert main(["generate", "--episodes", "12", "--workers", "1", "--out", str(folder / "data")]) == 0
    train = ["--steps", "3", "--batch", "16", "--set", "width=16", "--out", str(folder / "hasty")]
    assert main(["train", str(folder / "data"), *train]) == 0
    return folder


def command_output(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    capsys.readouterr()
    code = main([*map(str, words), "--json"])
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    return answer | {"code": code}


def test_a_policy_is_evaluated_and_the_evaluation_is_written(place: Path, capsys: pytest.CaptureFixture[str]):
    out = place / "judged"
    words = ("evaluate", place / "hasty", "--episodes", 6, "--workers", 1, "--out", out, "--clips", 0)
    first = command_output(capsys, *words)
    assert first["code"] == 0
    assert first["seed"] == 1_000_000
    assert first["success"]["trials"] == 6
    kept = load_evaluation(out)
    assert kept.success.successes == first["success"]["successes"]
    assert kept.subject.checkpoint == "hasty"
    assert kept.subject.config_name == "data"
    assert (out / "report.html").stat().st_size > 10_000

    # Again with two processes, against the same evaluation: no difference.
    again = command_output(capsys, *words[:2], "--workers", 2, "--against", out, "--out", place / "again", "--clips", 0)
    assert again["episodes"] == 6
    assert again["seed"] == 1_000_000
    assert again["comparison"]["difference"] == 0
    assert again["comparison"]["only_ours"] == again["comparison"]["only_theirs"] == 0
    assert again["comparison"]["p_value"] == 1
    episodes = [(folder / "episodes.parquet").read_bytes() for folder in (out, place / "again")]
    assert episodes[0] == episodes[1]


def test_evaluations_that_make_no_sense_are_refused(place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    seen = command_output(capsys, "evaluate", place / "hasty", "--seed", 0)
    assert seen["code"] == 2
    assert "was trained on" in seen["error"]
    other = tmp_path / "faster.yaml"
    other.write_text("rollout: {control_hz: 50}\n")
    misfit = command_output(capsys, "evaluate", place / "hasty", other)
    assert misfit["code"] == 1
    assert "25 Hz" in misfit["error"]
    assert "50 Hz" in misfit["error"]
    assert command_output(capsys, "evaluate", tmp_path)["code"] == 1
    assert command_output(capsys, "evaluate", place / "hasty", "--against", tmp_path)["code"] == 1


def test_two_policies_are_compared_on_the_same_draws(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    out = place / "evaluations" / "second"
    words = ("--against", place / "hasty", "--episodes", 2, "--workers", 1, "--ensemble", 0.1, "--clips", 0)
    met = command_output(capsys, "evaluate", place / "hasty", *words, "--out", out)
    assert met["comparison"]["both"] + met["comparison"]["neither"] == 2
    assert load_evaluation(out / "against").subject.ensemble == 0.1
    page = (Path(__file__).parents[2] / "docs" / "evaluating.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(place)
    exec(script, {})
    assert capsys.readouterr().out.split()[-1] == "1.0"
