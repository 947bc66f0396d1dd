"""Images of two datasets: a difference is found, shown, and explained by the rows that made it."""

import json
from pathlib import Path

import numpy as np
import pytest

import twinloop as tl
from twinloop.cli import main
from twinloop.diagnose.picture_gap import cropped
from twinloop.diagnose.picture_rows import TwinScenes, changed_settings, explain_pictures, visual_columns
from twinloop.diagnose.runlog_pictures import diagnose_pictures
from twinloop.errors import RenderError
from twinloop.observe.gl import context
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import load_config
from twinloop.signals.picture_features import picture_features

CONFIG = """
scene: {{robot: franka_panda, task: pick_and_place}}
randomization: {{visual: {{exposure_ev: {exposure}, light_warmth: {warmth}}}}}
cameras:
  front: {{position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, -0.03, 0.12], width: 48, height: 48, rate_hz: 1}}
rollout: {{parallel_envs: 3, episodes_per_env: 1, seed: {seed}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    folder = tmp_path_factory.mktemp("pictures")
    for name, exposure, warmth, seed in (("plain", [0, 0.05], [0, 0.05], 0), ("warm", [0.95, 1], [0.75, 0.8], 1)):
        text = CONFIG.format(exposure=exposure, warmth=warmth, seed=seed)
        (folder / f"{name}.yaml").write_text(text)
        tl.generate(folder / f"{name}.yaml", folder / name, episodes=4)
    return folder


def test_the_command_finds_shows_and_explains_the_difference(folder: Path, capsys: pytest.CaptureFixture[str]):
    page = folder / "both.html"
    words = ["compare", str(folder / "plain"), str(folder / "warm"), "--out", str(page), "--explain", "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    (gap,), (explanation,) = answer["pictures"], answer["explanations"]
    # Four episodes of each side allow 70 divisions, so p cannot be smaller than 1/35.
    assert gap["p_value"] < 0.1
    assert gap["mmd"] > gap["chance"]
    assert max(gap["families"], key=gap["families"].get) == "colour"
    assert len(gap["worst"]) == 4
    # Warmth is not the only way to make an image red: the gain of the red channel is another.
    first = {row["column"] for row in explanation["rows"][:4]}
    assert first & {"light_warmth", "white_balance_shift.red", "white_balance_shift.blue"}
    assert explanation["explained"] > 0.6
    text = page.read_text()
    assert "Worst mismatches" in text
    assert text.count("data:image/png;base64") == 8


def test_a_row_is_recovered_from_images_with_its_interval(folder: Path):
    config = load_config(folder / "plain.yaml")
    hidden = TwinScenes(config.with_seed(9), "front", scenes=8, extractor=picture_features)
    explanation = explain_pictures(config, "front", hidden.pictures({"camera_jitter_deg.yaw": 3.0}), seed=0, scenes=8)
    rows = {row.column: row for row in explanation.rows}
    assert explanation.rows[0].column == "camera_jitter_deg.yaw"
    assert rows["camera_jitter_deg.yaw"].value > 0.8
    assert rows["camera_jitter_deg.yaw"].is_clear


def test_only_rows_that_a_still_image_shows_are_considered():
    names = {row.name for row, _ in visual_columns()}
    assert {"exposure_ev", "lens_distortion", "light_warmth", "camera_jitter_deg"} <= names
    assert not names & {"depth_hole_share", "shutter_ms", "object_mass_kg", "texture_pool"}
    assert changed_settings(BY_NAME["exposure_ev"]) == {"exposure"}


def test_images_are_cropped_to_the_shape_of_the_others():
    images = np.arange(2 * 6 * 8 * 3).reshape(2, 6, 8, 3)
    np.testing.assert_array_equal(cropped(images, 1.0), images[:, :, 1:7])
    np.testing.assert_array_equal(cropped(images, 0.5), images[:, 1:5])


def test_a_real_dataset_has_no_config_to_explain_with(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert (
        main(["ingest", str(folder / "warm"), "--as", "real", "--out", str(folder / "real"), "--pictures", "all"]) == 0
    )
    assert main(["compare", str(folder / "real"), str(folder / "plain"), "--explain"]) != 0
    assert "--explain CONFIG" in capsys.readouterr().err


def test_a_diagnosis_compares_the_images_of_robot_and_twin(folder: Path):
    """The log comes from another config, which stands for the robot."""
    results = diagnose_pictures([folder / "warm"], load_config(folder / "plain.yaml"), seed=3, scenes=6)
    (result,) = results
    assert result.gap.mmd > result.gap.chance
    assert result.gap.worst[0].theirs.shape == (48, 48, 3)
    clear = {row.column for row in result.explanation.rows[:4]}
    assert clear & {"light_warmth", "white_balance_shift.red", "white_balance_shift.blue", "lighting_intensity"}
    assert json.loads(json.dumps(result.to_json()))["explanation"]["explained"] > 0.5
