"""A row that another package defines is found everywhere, with no other change."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("foreign_rows.py")
ROOT = Path(__file__).parents[2]
ROWS = {"belt_sag_mrad": "BELT_SAG", "encoder_gain_error": "ENCODER_GAIN", "lens_dust_share": "LENS_DUST"}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("foreign")
    shutil.copy(SOURCE, folder / "foreign_rows.py")
    info = folder / "foreign_rows-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-rows\nVersion: 1.0\n")
    points = "".join(f"{name} = foreign_rows:{row}\n" for name, row in ROWS.items())
    (info / "entry_points.txt").write_text(f"[twinloop.parameters]\n{points}")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    script = "import foreign_rows, json, sys, pathlib; print(json.dumps(foreign_rows.facts(pathlib.Path(sys.argv[1]))))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "fact",
    ["config", "refused", "sampling", "effect", "column", "docs", "adr", "counterfactual", "calibration"],
)
def test_every_foreign_row_is_found(facts: dict[str, list[str]], fact: str):
    assert sorted(facts[fact]) == sorted(ROWS)


def test_a_row_is_a_truth_of_cells_and_needs_cameras_only_if_it_says_so(facts: dict[str, list[str]]):
    assert facts["truth"] == ["belt_sag_mrad"]
    assert facts["not without cameras"] == ["lens_dust_share"]
