"""The handover example, from the config file to the failures."""

import json
from pathlib import Path

import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset, describe, query, verify

EXAMPLE = Path(__file__).parents[2] / "examples" / "handover.yaml"
IMPATIENT = EXAMPLE.read_text().replace("hand_patience_s: [4, 12]", "hand_patience_s: [0.5, 6]")


def json_output(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_handover_example_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "handover"
    assert main(["generate", str(EXAMPLE), "--episodes", "24", "--workers", "1", "--out", str(out), "--json"]) == 0
    assert json_output(capsys)["accepted"] >= 20
    verify(out).require()
    drawn = Dataset.open(out).attempts()["draw/bystander_probability"].to_pylist()
    assert set(drawn) <= {0.0, 1.0}


def test_failures_are_stored_counted_shown_and_reproduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    cell, out = tmp_path / "cell.yaml", tmp_path / "impatient"
    assert "[0.5, 6]" in IMPATIENT
    cell.write_text(IMPATIENT)
    assert main(["generate", str(cell), "--episodes", "24", "--workers", "1", "--out", str(out)]) == 0
    table = query(out, "select failure, success, verdict from attempts")
    rows = table.to_pylist()
    names = [row["failure"] for row in rows]
    assert "hand_withdrew" in names
    assert all(row["failure"] for row in rows if not row["success"])
    assert all(row["verdict"] != "accepted" for row in rows if row["failure"])
    counted = {name: names.count(name) for name in set(names) - {""}}
    assert describe(out)["failures"] == counted
    assert main(["info", str(out)]) == 0
    assert f"{counted['hand_withdrew']} hand_withdrew" in capsys.readouterr().out
    assert "hand withdrew" in (out / "report.html").read_text()
    attempt = names.index("hand_withdrew")
    assert main(["episode", str(out / "config.yaml"), "--attempt", str(attempt), "--json"]) == 0
    assert json_output(capsys)["failure"] == "hand_withdrew"
