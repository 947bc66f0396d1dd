"""The commands of docs/exporting.md run, and its Python needs MuJoCo only."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import blocks, run_commands

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exporting.md").read_text()


def test_the_commands_and_the_python_of_the_page_run(tmp_path: Path):
    pytest.importorskip("pxr", reason="pip install 'twinloop[usd]'")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (commands,) = blocks(PAGE, "sh")
    assert len(commands.strip().splitlines()) == 4
    run_commands(commands, tmp_path)
    script = "\n".join(line[4:] for line in PAGE.splitlines() if line.startswith("    "))
    assert "from_xml_path" in script
    check = f"{script}\nmujoco.mj_step(model, data, 10)\nimport sys; assert 'twinloop' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)
