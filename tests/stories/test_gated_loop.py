"""The loop through the gate: validated, canary with its limits; collected demonstrations are training data."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.lerobot.conftest import content
from tests.forked_servers import forked_servers
from tests.short_episodes import short_episodes
from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.gate.registry import Registry

pytest.importorskip("torch", reason="needs twinloop[learn]")

CELL = """\
scene: {task: press_button}
randomization:
  physics: {object_position_noise_cm: [-0.2, 0.2]}
"""
RULES = """\
validated: {episodes: 4, success: 0, harm: 1, regress: 1}
canary: {predicted: 0, episodes: 8, speed: 0.6}
production: {trials: 8, success: 0.3, aim: 0.6, least_success: 0, safety: 1, filter: 1, aborted: 1, regress: 1}
"""
LOOP = [
    "loop", "cell.yaml", "--robot", "twin:cell.yaml", "--rounds", "1", "--target", "1", "--budget", "2",
    "--trials", "8", "--episodes", "24", "--steps", "150", "--finetune-steps", "10", "--set", "width=96",
    "--set", "depth=2", "--cells", "2", "--cell-episodes", "4", "--evaluation-episodes", "4", "--strategy", "blind",
    "--rules", "rules.yaml", "--workers", "1", "--json", "--out", "loops/a",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def limit() -> Iterator[None]:
    with short_episodes("press_button", 5.0), forked_servers():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gated")
    (folder / "cell.yaml").write_text(CELL)
    (folder / "rules.yaml").write_text(RULES)
    return folder


def run(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        code = main(list(words))
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_loop_waits_for_a_person_and_then_walks_through_the_stages(folder: Path, capsys):
    code, output = run(folder, capsys, *LOOP)
    assert (code, output["waiting"]) == (5, "ready-0")
    assert "☐" in (folder / "loops/a/waiting.html").read_text()
    assert not (folder / "loops/a/round-0/runlog").exists()
    code, output = run(folder, capsys, "answer", "loops/a", "--yes", "--by", "ada", "--json")
    assert (code, output["by"]) == (0, "ada")

    # The twin is no hardware, but without --simulated people collect the demonstrations.
    code, output = run(folder, capsys, *LOOP)
    assert (code, output["waiting"]) == (5, "collect-0")
    assert output["commands"][0].startswith("twinloop collect --plan")
    words = output["commands"][0].split()[1:]
    assert run(folder, capsys, *words, "--demonstrator", "script", "--tries", "3", "--json")[0] == 0
    code, output = run(folder, capsys, *LOOP)
    assert (code, output["waiting"]) == (5, "ready-1")
    run(folder, capsys, "answer", "loops/a", "--yes", "--json")
    code, output = run(folder, capsys, *LOOP)
    assert code == 0

    first, second = output["rounds"]
    assert first["gate"]["stage"] in ("canary", "production")
    assert first["robot"]["trials"] == 8
    # The data that people collected is found when the second policy is judged.
    assert second["demonstrations"] == 2
    assert not any("was not found" in reason for reason in second["gate"]["held_back"])
    registry = Registry.open(folder / "loops/a/registry")
    validated = [record for record in registry.ledger.records if record.transition == "candidate -> validated"]
    assert [record.verdict for record in validated] == ["promoted", "promoted"]
    trials = next((folder / "loops/a/registry/trials").glob("*/runlog-*"))
    rows = Dataset.open(trials).attempts().to_pylist()
    assert {row["gate/stage"] for row in rows if row["arm"] == "candidate"} == {"canary"}
    assert {row["setting/speed"] for row in rows} == {0.6}
    assert {row["gate/registry"] for row in rows} == {registry.id}


def test_a_simulated_loop_passes_the_gate_without_a_person(folder: Path, capsys):
    words = [*LOOP, "--simulated"]
    for option, value in (("--robot", "rehearsal:nominal"), ("--rounds", "0"), ("--out", "loops/rehearsed")):
        words[words.index(option) + 1] = value
    code, output = run(folder, capsys, *words)
    assert code == 0
    (only,) = output["rounds"]
    assert only["gate"]["stage"] in ("canary", "production")
    assert only["robot"]["trials"] == 8
    rows = Dataset.open(folder / "loops/rehearsed" / only["gate"]["runlog"]).attempts().to_pylist()
    assert {row["gate/stage"] for row in rows} <= {"canary", "production"}
    assert all(row["robot_id"].startswith("rehearsal:nominal") for row in rows)


def test_simulated_and_ungated_are_refused_on_hardware(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump(content(), sort_keys=False))
    for option in ("--simulated", "--ungated"):
        assert main(["loop", "--robot", "lerobot:arm.yaml", option, "--out", option[2:], "--json"]) == 2
        assert "is hardware; there the gate and people decide" in capsys.readouterr().out
        assert not (tmp_path / option[2:]).exists()


def test_a_demonstrator_cannot_see_the_scene_of_a_robot_without_one(folder: Path, capsys):
    words = ["loop", "cell.yaml", "--robot", "twin:cell.yaml", "--demonstrator-sees", "scene", "--out", "loops/blind"]
    code, output = run(folder, capsys, *words, "--json")
    assert code == 2
    assert "has readings only" in output["error"]
    assert not (folder / "loops/blind").exists()
