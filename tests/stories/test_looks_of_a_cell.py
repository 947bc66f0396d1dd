"""A cell in which the light is another: pictures of its runlog tell it, against those of the twin."""

import json
from pathlib import Path

import numpy as np
import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.diagnose.report import read_report

pytest.importorskip("torch", reason="needs twinloop[learn]")
pytest.importorskip("av", reason="needs twinloop[video]")

CAMERA = """\
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, -0.03, 0.12], fov_deg: 46, width: 64, height: 48}
"""
CELL = CAMERA + "randomization:\n  physics: {object_position_noise_cm: [-0.2, 0.2]}\n"
DIM = CELL + "  visual: {lighting_intensity: [0.15, 0.25]}\n"
FRONT = "observation.images.front"


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looks")
    (folder / "cell.yaml").write_text(CELL)
    (folder / "dim.yaml").write_text(DIM)
    words = [
        "generate cell.yaml --episodes 16 --out data",
        "train data --policy mlp --steps 200 --set width=96 --set depth=2 --out policy",
        "deploy policy --robot twin:dim.yaml --episodes 8 --out runlog",
        "deploy policy --robot twin:cell.yaml --episodes 8 --first 100 --out usual",
        "diagnose runlog --policy policy --twin cell.yaml --worlds 4 --episodes 4 --out dim",
        "diagnose usual --policy policy --twin cell.yaml --worlds 4 --episodes 4 --out nothing",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in words:
            assert main([*line.split(), "--json"]) == 0, line
    return folder


def test_a_twin_with_cameras_logs_what_they_see(diagnosed: Path):
    dim, usual = (Dataset.open(diagnosed / name) for name in ("runlog", "usual"))
    pictures = [each.pictures(0, FRONT) for each in (dim, usual)]
    assert pictures[0].shape[1:] == (48, 64, 3)
    assert pictures[0].mean() < 0.8 * pictures[1].mean()
    rows = [3, 0]
    assert np.array_equal(dim.pictures(None, FRONT, attempt=0, rows=rows), pictures[0][rows])


def test_the_light_is_found_by_pictures_alone(diagnosed: Path):
    report = read_report(diagnosed / "dim")
    assert report.findings[0].gap == "visual"
    assert report.findings[0].probability > 0.9
    told = {each.trait: (each.robot, each.twin) for each in report.findings[0].evidence}
    robot, twin = told["brightness"]
    assert robot < 0.8 * twin
    assert "poor_light" not in told  # nobody wrote it down


def test_nothing_is_said_of_pictures_that_look_alike(diagnosed: Path):
    visual = next(each for each in read_report(diagnosed / "nothing").findings if each.gap == "visual")
    assert visual.probability < 0.5
    assert "brightness" not in json.dumps([each.trait for each in visual.evidence])
