"""`twinloop ingest`: recordings are ingested and checked, and the page shows what is wrong."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.dataset.ingest.sources import lerobot_v2
from twinloop.cli import main


def test_recordings_are_ingested_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = lerobot_v2(tmp_path / "source", episodes=5)
    broken = source / "data/chunk-000/episode_000002.parquet"
    table = pq.read_table(broken)
    place = table.column_names.index("action")
    pq.write_table(table.set_column(place, "action", table["observation.state"]), broken)
    out = tmp_path / "out"
    assert main(["ingest", str(source), "--as", "cups", "--out", str(out), "--outcome", "success", "--json"]) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (output["episodes"], output["rejected"]) == (5, 1)
    assert output["quality"][0]["verdict"] == "action_copy"
    stored = json.loads((out / "quality.json").read_text())
    assert stored["checks"]["action_copy"] == {"error": 1, "note": 0}
    page = (out / "quality.html").read_text()
    assert "action_copy" in page
    assert len(re.findall(r">\d · episode_[^<]*</text>", page)) == 5  # a labelled strip an episode

    assert main(["quality", str(out), "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [episode["verdict"] for episode in again["verdicts"]] == [
        episode["verdict"] for episode in stored["verdicts"]
    ]

    assert main(["verify", str(out)]) == 0
    assert main(["query", str(out), "select verdict, count(*) from attempts group by verdict", "--json"]) == 0


def test_a_missing_source_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["ingest", str(tmp_path / "nowhere"), "--as", "x"]) == 2
    assert "no such file or folder" in capsys.readouterr().err
