"""Frames of a twin with a hidden camera, as files: its exposure, white balance, colours, noise and sharpness are found,
and the pictures come closer."""

import json
from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.visual.anchor import Set
from twinloop.calibrate.visual.frames import RUN, fitted, read_frames
from twinloop.cli import main
from twinloop.dashboard.images import write_png
from twinloop.errors import DatasetError, RenderError
from twinloop.observe.gl import context
from twinloop.run.config import load_config

CONFIG = """\
cameras:
  front: {position_m: [1.0, 0.0, 0.75], look_at_m: [0.45, 0.0, 0.0], fov_deg: 46, width: 96, height: 72}
randomization:
  visual: {lighting_intensity: [0.9, 1.1], camera_jitter_deg: [-3, 3], exposure_ev: [-1, 1]}
  physics: {object_position_noise_cm: [-4, 4]}
rollout: {seed: SEED}
"""
TRUTH = {
    "exposure_ev": -0.6, "white_balance_shift.red": 0.1, "white_balance_shift.blue": -0.08, "colour_saturation": 0.8,
    "read_noise": 1.5, "shot_noise": 0.015, "defocus_px": 0.8,
}  # fmt: skip


def write_config(folder: Path, seed: int) -> Path:
    path = folder / f"cell{seed}.yaml"
    path.write_text(CONFIG.replace("SEED", str(seed)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    folder = tmp_path_factory.mktemp("anchoring")
    hidden = Set(load_config(write_config(folder, 7)), "front", scenes=12)
    (folder / "frames").mkdir()
    for number, run in enumerate(hidden.develop(TRUTH, seed=11)):
        for frame, picture in enumerate(run):
            write_png(folder / "frames" / f"{number:03d}_{frame}.png", picture)
    return folder


def test_a_hidden_camera_is_found_and_the_twin_comes_closer(place: Path, capsys):
    out, page = place / "patch.yaml", place / "page.html"
    words = ["calibrate", str(write_config(place, 0)), "--frames", str(place / "frames"), "--camera", "front"]
    assert main([*words, "--out", str(out), "--page", str(page), "--json"]) == 0
    output = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    for name, truth in TRUTH.items():
        result = output["fitted"][name]
        # Nine intervals of ten hold the truth; a fifth of one on either side leaves room for the tenth.
        room = 0.2 * (result["high"] - result["low"])
        assert result["low"] - room <= truth <= result["high"] + room, name
    assert abs(output["fitted"]["exposure_ev"]["value"] + 0.6) < 0.15
    assert output["distance"]["after"] < 0.6 * output["distance"]["before"]
    content = page.read_text(encoding="utf-8")
    assert content.count("<img") == 12
    assert "http" not in content.replace("http-equiv", "")


def test_pictures_become_runs_of_the_twins_size(place: Path):
    frames = read_frames(place / "frames", height=36, width=48)
    assert all(run.rgb.shape == (RUN, 36, 48, 3) for run in frames.runs)
    assert len(frames.runs) == 12
    assert list(frames.digests) == ["48 pictures"]


def test_a_picture_is_cut_to_shape_about_its_middle():
    wide = np.zeros((40, 120, 3), np.uint8)
    wide[:, 40:80] = 200
    assert (fitted(wide, 20, 20) > 150).all()


def test_a_folder_without_frames_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing to see")
    with pytest.raises(DatasetError, match="no video"):
        read_frames(tmp_path, height=10, width=10)
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(DatasetError, match="cannot be read"):
        read_frames(tmp_path, height=10, width=10)
