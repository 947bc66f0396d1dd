"""The commands and code on the pages about real recordings run."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.curate.quality.recordings import clean_recordings
from tests.dataset.ingest.sources import lerobot_v2
from tests.pages import blocks, run_commands, run_python
from twinloop.cli import main

ROOT = Path(__file__).parents[2]
INGESTING, COMPARING = (ROOT / "docs" / f"{name}.md" for name in ("ingesting", "comparing"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings and the other files that the pages use."""
    folder = tmp_path_factory.mktemp("real")
    shutil.copytree(ROOT / "examples", folder / "examples")
    source = lerobot_v2(folder / "recordings" / "cups", episodes=3)
    for day in ("monday", "tuesday"):
        assert main(["ingest", str(source), "--as", day, "--out", str(folder / "datasets" / day)]) == 0
    lines = ["time_ms,episode,q1_deg,q2_deg,grip_mm,q1_goal_deg,q2_goal_deg,grip_goal_mm,success"]
    for recording in clean_recordings(2, seed=4):
        seen, commanded = (recording.signals[name][:, [0, 1, 4]] for name in ("observation.state", "action"))
        table = np.concatenate(
            [np.rad2deg(seen[:, :2]), seen[:, 2:], np.rad2deg(commanded[:, :2]), commanded[:, 2:]], axis=1
        )
        lines += [f"{20 * row},{recording.attempt},{','.join(map(str, values))},1" for row, values in enumerate(table)]
    (folder / "day.csv").write_text("\n".join(lines) + "\n")
    mapping = folder / "examples" / "ingest" / "arm_log.yaml"
    out = str(folder / "datasets" / "arm")
    assert main(["ingest", str(folder / "day.csv"), "--as", "arm", "--mapping", str(mapping), "--out", out]) == 0
    return folder


@pytest.mark.parametrize("page", [INGESTING, COMPARING], ids=lambda page: page.stem)
def test_the_commands_and_python_of_the_page_run(place: Path, page: Path):
    for commands in blocks(page.read_text(), "sh"):
        run_commands(commands, place)
    for script in blocks(page.read_text(), "python"):
        run_python(script, place)


def test_the_mapping_of_the_page_is_the_example():
    (mapping,) = blocks(INGESTING.read_text(), "yaml")
    schema_line, example = (ROOT / "examples" / "ingest" / "arm_log.yaml").read_text().split("\n", 1)
    assert schema_line.startswith("# yaml-language-server: $schema=")
    assert mapping == example


@pytest.mark.parametrize("page", [INGESTING, COMPARING], ids=lambda page: page.stem)
def test_links_exist(page: Path):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link
