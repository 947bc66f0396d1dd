"""A cell with other lighting is diagnosed from the images of its runlog and of the twin."""

from pathlib import Path

import numpy as np
import pytest

from tests.forked_servers import forked_servers
from tests.short_chains import short_chains
from tests.short_episodes import short_episodes
from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.diagnose.report import read_report

pytest.importorskip("torch", reason="needs twinloop[learn]")
pytest.importorskip("av", reason="needs twinloop[video]")

BLIND = """\
rollout: {timestep_ms: 5}
randomization:
  physics: {object_position_noise_cm: [-0.2, 0.2]}
"""
CELL = (
    BLIND
    + """\
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, -0.03, 0.12], fov_deg: 46, width: 64, height: 48, rate_hz: 5}
"""
)
DIM = CELL.replace("physics", "visual: {lighting_intensity: [0.15, 0.25]}\n  physics")
FRONT = "observation.images.front"


def test_lighting_of_a_cell_is_diagnosed_from_images_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"blind": BLIND, "cell": CELL, "dim": DIM}.items():
        Path(f"{name}.yaml").write_text(text)
    lines = (
        "generate blind.yaml --episodes 16 --out data",
        "train data --policy mlp --steps 200 --set width=96 --set depth=2 --out policy",
        "deploy policy --robot twin:dim.yaml --episodes 8 --out runlog",
        "diagnose runlog --policy policy --twin cell.yaml --cells 1 --episodes 4 --out found",
    )
    with short_episodes("pick_and_place", 5.5), short_chains(), forked_servers():
        for line in lines:
            assert main([*line.split(), "--json"]) == 0, line

    log = Dataset.open(Path("runlog"))
    pictures = log.pictures(0, FRONT)
    assert pictures.shape[1:] == (48, 64, 3)
    assert np.array_equal(log.pictures(None, FRONT, attempt=0, rows=[3, 0]), pictures[[3, 0]])

    first = read_report(Path("found")).findings[0]
    assert first.gap == "visual"
    assert first.differs > 0.9  # the policy does not use the images, so the light costs nothing
    differences = {evidence.trait: (evidence.robot, evidence.twin) for evidence in first.evidence}
    robot, twin = differences["brightness"]
    assert robot < 0.8 * twin
    assert "poor_light" not in differences  # the log has no condition for it
