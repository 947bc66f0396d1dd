from pathlib import Path

import pytest

from twinloop.cli import main


@pytest.mark.parametrize(("make", "what"), [(False, "does not exist"), (True, "a folder without a report.json")])
def test_without_a_report_the_message_names_the_command_that_makes_one(tmp_path: Path, capsys, make: bool, what: str):
    folder = tmp_path / "nowhere"
    if make:
        folder.mkdir()
    assert main(["plan", str(folder), "--json"]) == 2
    output = capsys.readouterr().out
    assert what in output
    assert "twinloop diagnose RUNLOGS" in output
