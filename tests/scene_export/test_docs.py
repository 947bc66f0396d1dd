"""The commands of docs/exporting.md run, and its Python needs MuJoCo only."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from twinloop.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exporting.md").read_text()


def test_the_commands_and_the_python_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pxr", reason="pip install 'twinloop[usd]'")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    commands = block.strip().splitlines()
    assert len(commands) == 4
    for command in commands:
        assert main(command.split()[1:]) == 0
    script = "\n".join(line[4:] for line in PAGE.splitlines() if line.startswith("    "))
    assert "from_xml_path" in script
    check = f"{script}\nmujoco.mj_step(model, data, 10)\nimport sys; assert 'twinloop' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)
