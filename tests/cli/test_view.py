"""`twinloop view`: the Rerun recording agrees with the dataset, frame by frame."""

import json
import re
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from twinloop.cli import main
from twinloop.dataset import Dataset
from twinloop.errors import RenderError
from twinloop.observe.gl import context
from twinloop.pipeline.generate import generate
from twinloop.run.config import config_from_text

pytest.importorskip("rerun", reason="needs twinloop[view]")

from PIL import Image
from rerun.chunk import Chunk, RrdReader

CELL = """\
randomization:
  physics: {friction_coefficient: {choice: [0.01, 0.8]}, object_size_scale: [0.85, 1.2], table_height_cm: [-1, 1]}
  visual: {camera_jitter_deg: [-2, 2]}
  sensing: {encoder_noise_mrad: [0, 2]}
  environment: {clutter_count: 2}
observe: {wrist: true, keep_clean: true}
dataset: {shard_episodes: 3}
"""
CAMERAS = """\
cameras:
  side: {position_m: [0.4, -1.0, 0.5], look_at_m: [0.4, 0, 0.1], width: 64, height: 48, depth: true,
         labels: [instances, classes, boxes, boxes_3d, poses, keypoints]}
  low_side: {mount: wrist, position_m: [0.085, 0, -0.05], look_at_m: [0, 0, 0.035], width: 48, height: 48, rate_hz: 5,
             rgb: false, labels: [boxes, keypoints]}
"""
EPISODES = 6


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset without cameras, with its failures."""
    out = tmp_path_factory.mktemp("view") / "blind"
    config = config_from_text(CELL, name="cell.yaml", folder=Path())
    generate(config, out, episodes=EPISODES, workers=1, keep_rejected=True)
    return out


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("av", reason="needs twinloop[video]")
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    out = tmp_path_factory.mktemp("view") / "filmed"
    config = config_from_text(CELL + CAMERAS, name="cell.yaml", folder=Path())
    generate(config, out, episodes=2, workers=1, keep_rejected=True)
    return out


def recorded(dataset: Path, out: Path, *words: str) -> tuple[dict[str, Chunk], dict[str, Chunk]]:
    """(entity -> columns, entity -> static components), read back from the file."""
    assert main(["view", str(dataset), "--out", str(out), *words]) == 0
    moving, static = {}, {}
    for chunk in RrdReader(out).stream().to_chunks():
        (static if chunk.is_static else moving)[chunk.entity_path.lstrip("/")] = chunk
    return moving, static


def column(chunk: Chunk, name: str) -> list:
    batch = chunk.to_record_batch()
    (result,) = [item for item in batch.schema.names if item.endswith(name)]
    return batch.column(result).to_pylist()


def test_every_signal_has_every_frame_on_both_timelines(blind: Path, tmp_path: Path):
    moving, _ = recorded(blind, tmp_path / "a.rrd", "--episode", "1")
    dataset = Dataset.open(blind)
    frames = dataset.episode(1)
    checked = 0
    for feature in dataset.header.columns:
        names = feature.names if feature.shape != (1,) else ("",)
        if feature.name == "phase":
            continue
        values = np.asarray(frames[feature.name], float).reshape(len(frames["timestamp"]), -1)
        for name, expected in zip(names, values.T, strict=True):
            chunk = moving[f"signals/{feature.name}" + (f"/{name}" if name else "")]
            assert set(chunk.timeline_names) == {"time", "frame"}
            np.testing.assert_array_equal(np.ravel(column(chunk, "scalars")), expected)
            assert column(chunk, "frame") == list(range(len(expected)))
            seconds = [item.total_seconds() for item in column(chunk, "time")]
            np.testing.assert_allclose(seconds, frames["timestamp"], atol=1e-6)
            checked += 1
    assert checked > 100


def test_the_phases_are_states_at_every_change(blind: Path, tmp_path: Path):
    moving, _ = recorded(blind, tmp_path / "a.rrd", "--episode", "0")
    dataset = Dataset.open(blind)
    phase = dataset.episode(0)["phase"]
    changes = [0, *(np.flatnonzero(np.diff(phase)) + 1)]
    assert column(moving["phase"], "frame") == changes
    assert [state for (state,) in column(moving["phase"], "state")] == [
        dataset.header.phases[number] for number in phase[changes]
    ]


def test_the_cell_has_the_poses_of_the_episode(blind: Path, tmp_path: Path):
    moving, static = recorded(blind, tmp_path / "a.rrd", "--episode", "2")
    frames = Dataset.open(blind).episode(2)
    row = Dataset.open(blind).attempts().slice(2, 1).to_pylist()[0]
    pose = frames["clean.observation.environment_state"]
    for path in ("world/body/object", "world/pose/object", "world/box/object"):
        np.testing.assert_allclose(np.squeeze(column(moving[path], "translation")), pose[:, :3], atol=1e-6)
    ((table,),) = column(static["world/body/table"], "translation")
    assert table[2] == pytest.approx(row["draw/table_height_cm"] / 100)
    ((half,),) = column(static["world/box/object"], "half_sizes")
    assert half[0] == pytest.approx(0.02 * row["draw/object_size_scale"], rel=0.05)
    # In the grip the tool is at the object, and the hand that carries it moves.
    tool = np.squeeze(column(moving["world/pose/tool"], "translation"))
    assert np.linalg.norm(tool - pose[:, :3], axis=1).min() < 0.02
    assert np.ptp(np.squeeze(column(moving["world/body/robot/hand"], "translation")), axis=0).max() > 0.1
    assert "world/body/clutter/mug" in static


def test_a_page_shows_the_draw_and_the_verdict(blind: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rejected = next(
        item for item in Dataset.open(blind).attempts().to_pylist() if item["verdict"] != "accepted" and item["length"]
    )
    _, static = recorded(blind, tmp_path / "a.rrd", "--attempt", str(rejected["attempt"]), "--json")
    output = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert output["attempt"] == rejected["attempt"]
    assert output["verdict"] == rejected["verdict"] != "accepted"
    ((page,),) = column(static["episode"], "text")
    assert rejected["task"] in page
    assert f"**{rejected['verdict']}**" in page
    assert re.search(rf"friction_coefficient \| {rejected['draw/friction_coefficient']:.3g}", page)
    assert f"{output['frames']} frames" in page


def test_images_equal_those_of_the_dataset(filmed: Path, tmp_path: Path):
    moving, static = recorded(filmed, tmp_path / "a.rrd", "--episode", "1")
    dataset = Dataset.open(filmed)
    rgb = dataset.pictures(1, "observation.images.side")
    images = [np.asarray(Image.open(BytesIO(bytes(blob)))) for (blob,) in column(moving[f"{SIDE}/lens/rgb"], "blob")]
    assert len(images) == len(rgb)
    assert np.abs(np.stack(images).astype(float) - rgb).mean() < 4
    depth = dataset.pictures(1, "observation.images.side_depth")
    pngs = [np.asarray(Image.open(BytesIO(bytes(blob)))) for (blob,) in column(moving[f"{SIDE}/lens/depth"], "blob")]
    np.testing.assert_allclose(np.stack(pngs) / 1000, depth, atol=0.00051)
    assert column(static[f"{SIDE}/lens/depth"], "meter") == [[1000.0]]


SIDE, HAND = "world/camera/side", "world/camera/low_side"


def test_cameras_have_their_stored_poses(filmed: Path, tmp_path: Path):
    moving, static = recorded(filmed, tmp_path / "a.rrd", "--episode", "0")
    row = Dataset.open(filmed).attempts().slice(0, 1).to_pylist()[0]
    ((place,),) = column(static[SIDE], "translation")
    np.testing.assert_allclose(place, np.reshape(row["camera/side/to_mount"], (4, 4))[:3, 3], atol=1e-6)
    ((matrix,),) = column(static[f"{SIDE}/lens"], "image_from_camera")
    fx, fy, cx, cy, _ = row["camera/side/lens"]
    np.testing.assert_allclose(np.reshape(matrix, (3, 3)).T, [[fx, 0, cx], [0, fy, cy], [0, 0, 1]], rtol=1e-6)
    # The camera on the wrist keeps its distance from the tool.
    tool, hand = (np.squeeze(column(moving[path], "translation")) for path in ("world/pose/tool", HAND))
    assert np.ptp(np.linalg.norm(hand - tool, axis=1)) < 1e-5
    assert np.ptp(hand, axis=0).max() > 0.1


def test_masks_equal_those_of_the_dataset_with_their_names(filmed: Path, tmp_path: Path):
    moving, static = recorded(filmed, tmp_path / "a.rrd", "--episode", "1")
    dataset = Dataset.open(filmed)
    for kind in ("instances", "classes"):
        masks = dataset.pictures(1, f"observation.images.side_{kind}")
        path = f"{SIDE}/lens/{kind}"
        buffers = [np.frombuffer(bytes(buffer), masks.dtype) for (buffer,) in column(moving[path], "buffer")]
        np.testing.assert_array_equal(np.stack(buffers).reshape(masks.shape), masks)
        (context_,) = column(static[path], "context")
        names = [item["class_description"]["info"]["label"] for item in context_[0]]
        assert tuple(names) == dataset.header.feature(f"observation.images.side_{kind}").names


def test_boxes_and_keypoints_are_on_the_image(filmed: Path, tmp_path: Path):
    moving, _ = recorded(filmed, tmp_path / "a.rrd", "--episode", "1")
    dataset = Dataset.open(filmed)
    for camera, path in (("side", SIDE), ("low_side", HAND)):
        name = f"label.{camera}.boxes"
        boxes, names = dataset.episode(1)[name], dataset.header.feature(name).names
        chunk = moving[f"{path}/lens/boxes"]
        expected = boxes[:, [names.index(f"object.{edge}") for edge in ("left", "top", "right", "bottom")]]
        for frame, (centres, halves, labels) in enumerate(
            zip(column(chunk, "centers"), column(chunk, "half_sizes"), column(chunk, "labels"), strict=True)
        ):
            assert len(centres) == len(halves) == len(labels)
            seen = expected[frame, 2] > expected[frame, 0]
            assert ("object" in labels) == seen
            if seen:
                place = labels.index("object")
                corner = np.subtract(centres[place], halves[place])
                np.testing.assert_allclose(corner, expected[frame, :2], atol=1e-4)
        points = column(moving[f"{path}/lens/keypoints"], "positions")
        assert len(points) == len(boxes)
        assert max(len(point) for point in points) == 10


def test_labels_in_space_agree_with_the_cell(filmed: Path, tmp_path: Path):
    moving, static = recorded(filmed, tmp_path / "a.rrd", "--episode", "1")
    row = Dataset.open(filmed).attempts().slice(1, 1).to_pylist()[0]
    to_world = np.reshape(row["camera/side/to_mount"], (4, 4))
    in_world = np.squeeze(column(moving["world/body/object"], "translation"))
    for path in (f"{SIDE}/poses/object", f"{SIDE}/boxes_3d/object"):
        in_camera = np.squeeze(column(moving[path], "translation"))
        np.testing.assert_allclose(in_camera @ to_world[:3, :3].T + to_world[:3, 3], in_world, atol=1e-5)
    ((box,),) = column(static[f"{SIDE}/boxes_3d/object"], "half_sizes")
    ((drawn,),) = column(static["world/box/object"], "half_sizes")
    np.testing.assert_allclose(box, drawn, rtol=1e-4)


def test_a_recording_opens_with_a_layout(filmed: Path, tmp_path: Path):
    recorded(filmed, tmp_path / "a.rrd", "--episode", "0")
    (entry,) = RrdReader(tmp_path / "a.rrd").blueprints()
    texts = {
        str(value)
        for chunk in RrdReader(tmp_path / "a.rrd").stream(store=entry).to_chunks()
        for name in chunk.to_record_batch().schema.names
        if name.endswith(":display_name")
        for value in column(chunk, ":display_name")
    }
    for name in ("cell", "side", "side depth", "side classes", "low_side", "phase", "joint1", "episode"):
        assert f"['{name}']" in texts


def test_without_the_robot_model_the_recording_has_everything_else(
    blind: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    copy = tmp_path / "moved"
    copy.mkdir()
    for file in blind.iterdir():
        (copy / file.name).symlink_to(file)
    (copy / "config.yaml").unlink()
    text = (blind / "config.yaml").read_text()
    robot = "robot: {mjcf: gone.xml, arm_joints: [a], gripper: {actuator: e, joints: [d], fingers: [b, c]}, home: [0]}"
    (copy / "config.yaml").write_text(text.replace("robot: franka_panda", robot))
    moving, _ = recorded(copy, tmp_path / "a.rrd", "--episode", "0")
    assert "signals/action/joint1" in moving
    assert "world/pose/object" in moving
    assert "world/pose/tool" not in moving
    assert "gone.xml" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--episode", "99"], ["no episode 99", "counted from 0"]),
        (["--attempt", "99"], ["attempt 99", "not in a committed shard"]),
        (["--episode", "0", "--out", "no/such/folder/a.rrd"], ["no/such/folder/a.rrd", "cannot be written"]),
    ],
)
def test_missing_episodes_are_refused(blind: Path, capsys: pytest.CaptureFixture[str], words, expected):
    assert main(["view", str(blind), *words]) == 1
    message = capsys.readouterr().err
    assert all(word in message for word in expected), message


def test_a_rejected_attempt_without_rows_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = config_from_text("randomization: {physics: {friction_coefficient: 0.02}}", name="slip", folder=Path())
    generate(config, tmp_path / "data", episodes=2, workers=1)
    assert main(["view", str(tmp_path / "data"), "--attempt", "0"]) == 1
    message = capsys.readouterr().err
    assert "attempt 0 has no rows; it was rejected" in message
    assert "--keep-rejected" in message


def test_without_rerun_the_message_names_the_command_to_run(blind: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rerun", None)
    assert main(["view", str(blind), "--episode", "0"]) == 2
    assert "pip install 'twinloop[view]'" in capsys.readouterr().err
