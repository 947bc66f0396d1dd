"""Labels end to end: labels in a dataset agree exactly with its columns and with rendering again."""

from pathlib import Path

import numpy as np
import pytest

from tests.stories.cameras import camera_config
from twinloop.dataset import Dataset, verify
from twinloop.observe.camera import Intrinsics
from twinloop.observe.image import sensed
from twinloop.observe.moments import picture_ticks, shown_in
from twinloop.observe.projection import inverse, project, rays
from twinloop.observe.renderer import Renderer
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig
from twinloop.run.reproduce import reproduce

CONFIG = """
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, 0.0, 0.12], fov_deg: 40, width: 96, height: 72,
          labels: [instances, classes, boxes, boxes_3d, poses, keypoints]}
  down: {position_m: [0.46, 0.0, 0.9], look_at_m: [0.46, 0.0, 0.0], fov_deg: 50, width: 64, height: 48,
         rgb: false, depth: true, labels: [instances]}
  hand: {mount: wrist, position_m: [0.085, 0, -0.05], look_at_m: [0, 0, 0.035], fov_deg: 75, width: 64, height: 64,
         rate_hz: 10, labels: [poses, classes, keypoints]}
  blind: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, 0.0, 0.12], width: 64, height: 48, rgb: false,
          rate_hz: 1, labels: [poses]}
randomization:
  visual: {lens_distortion: [-0.08, 0.05], camera_fov_noise_deg: [-2, 2], read_noise: 2}
  environment: {clutter_count: 3}
  physics: {object_yaw_deg: [-45, 45]}
dataset: {shard_episodes: 2}
"""


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return camera_config(CONFIG)


@pytest.fixture(scope="module")
def filmed(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, str]:
    out = tmp_path_factory.mktemp("labelled") / "data"
    digest = generate(config, out, episodes=3, workers=1).digest
    return Dataset.open(out), digest


def calibration(dataset: Dataset, camera: str, index: int) -> tuple[Intrinsics, np.ndarray]:
    """The true lens and pose in its mount of a stored episode, as its columns say."""
    attempts = dataset.attempts()
    row = np.flatnonzero(attempts["length"].to_numpy())[index]
    lens, pose = (attempts[f"camera/{camera}/{what}"][int(row)].as_py() for what in ("lens", "to_mount"))
    return Intrinsics(*lens), np.array(pose).reshape(4, 4)


def labels(dataset: Dataset, camera: str, what: str, index: int) -> dict[str, np.ndarray]:
    """By the names of its elements."""
    feature = dataset.header.feature(f"label.{camera}.{what}")
    return dict(zip(feature.names, dataset.episode(index)[feature.name].T, strict=True))


def test_only_requested_labels_are_stored(filmed):
    dataset, _ = filmed
    names = {feature.name for feature in dataset.header.features}
    pictures = {name.removeprefix("observation.images.") for name in names if name.startswith("observation.images.")}
    assert pictures == {
        "front", "front_instances", "front_classes", "down_depth", "down_instances", "hand", "hand_classes"
    }  # fmt: skip
    columns = {name.removeprefix("label.") for name in names if name.startswith("label.")}
    assert columns == {
        "front.boxes", "front.boxes_3d", "front.poses", "front.keypoints", "hand.poses", "hand.keypoints", "blind.poses"
    }  # fmt: skip


def test_rows_equal_decoded_frames_and_ids_have_names(filmed):
    dataset, _ = filmed
    assert verify(dataset.path).ok
    for index in range(dataset.stored):
        rows = len(dataset.episode(index)["action"])
        for feature in dataset.header.pictures:
            assert len(dataset.pictures(index, feature.name)) == rows
    bodies, classes = (dataset.header.feature(f"observation.images.front_{what}") for what in ("instances", "classes"))
    seen = {bodies.names[number] for number in np.unique(dataset.pictures(0, bodies.name))}
    assert {"world", "table", "object", "robot/hand", "clutter/mug"} <= seen
    seen = {classes.names[number] for number in np.unique(dataset.pictures(0, classes.name))}
    assert seen == {"background", "table", "robot", "object", "target", "clutter"}


def test_stored_masks_equal_the_rendered_ones_bit_for_bit(filmed, config: RunConfig):
    dataset, _ = filmed
    made = reproduce(config, 1)
    values = {column: float(array[0]) for column, array in made.episodes.draws.values.items()}
    index = int(np.count_nonzero(dataset.attempts()["length"].to_numpy()[:1]))
    clips = Renderer(made.twin, config.cameras).film(made.episodes, 0)
    for name in ("front", "down"):
        drawn = sensed(clips[name], values, seed=config.rollout.seed, attempt=1, name=name)
        np.testing.assert_array_equal(
            dataset.pictures(index, f"observation.images.{name}_instances"), drawn.instance_ids
        )  # fmt: skip


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_state_projected_by_the_stored_lens_lands_on_the_stored_mask(filmed, index: int):
    """Nothing is used but columns: where the object is in the world, where the camera stood, and its lens."""
    dataset, _ = filmed
    lens, camera_to_world = calibration(dataset, "front", index)
    assert lens.distortion != 0
    in_world = dataset.episode(index)["observation.environment_state"][:, :3].astype(float)
    world_to_camera = inverse(camera_to_world)
    pixels = project(in_world @ world_to_camera[:3, :3].T + world_to_camera[:3, 3], lens)
    points = labels(dataset, "front", "keypoints", index)
    np.testing.assert_allclose(pixels, np.column_stack([points["object.u"], points["object.v"]]), atol=0.01)

    feature = dataset.header.feature("observation.images.front_classes")
    masks = dataset.pictures(index, feature.name) == feature.names.index("object")
    seen = points["object.seen"] == 2
    assert seen[0]
    assert seen.mean() > 0.3
    u, v = np.floor(pixels).astype(int).T
    assert masks[np.arange(len(masks)), v, u][seen].all()
    assert not masks[np.arange(len(masks)), v, u][~seen].any()


@pytest.mark.parametrize("index", [0, 1])
def test_labels_of_a_slow_camera_match_its_current_image(filmed, index: int):
    """10 Hz beside 25 Hz: between two rows, and held until the next. The pose that is stored lands on the mask."""
    dataset, _ = filmed
    lens, _ = calibration(dataset, "hand", index)
    pose, points = labels(dataset, "hand", "poses", index), labels(dataset, "hand", "keypoints", index)
    pixels = project(np.column_stack([pose[f"object.{axis}"] for axis in "xyz"]).astype(float), lens)
    feature = dataset.header.feature("observation.images.hand_classes")
    masks = dataset.pictures(index, feature.name)
    seen = points["object.seen"] == 2
    assert seen.mean() > 0.3
    u, v = np.floor(pixels[seen]).astype(int).T
    assert (masks[seen][np.arange(seen.sum()), v, u] == feature.names.index("object")).all()

    length = len(masks)
    images = shown_in(picture_ticks(length, control_hz=25, rate_hz=10), length)
    held = np.diff(images) == 0
    assert 0.5 < held.mean() < 0.7
    values = np.column_stack(list(pose.values()))
    assert (np.diff(values, axis=0)[held] == 0).all()
    assert (np.diff(masks.astype(int), axis=0)[held] == 0).all()
    assert (np.abs(np.diff(values, axis=0)[~held]).max(axis=1) > 0).mean() > 0.8


def test_depth_of_the_table_is_exact_to_a_millimetre(filmed):
    """From above, so that a lens that shifts a pixel by a part of one shifts no depth."""
    dataset, _ = filmed
    for index in range(dataset.stored):
        lens, camera_to_world = calibration(dataset, "down", index)
        depth_m = dataset.pictures(index, "observation.images.down_depth")
        bodies = dataset.header.feature("observation.images.down_instances")
        table = dataset.pictures(index, bodies.name) == bodies.names.index("table")
        points = rays(lens, *depth_m.shape[1:]) * depth_m[..., None]
        height = points @ camera_to_world[2, :3] + camera_to_world[2, 3]
        assert table.mean() > 0.3
        np.testing.assert_allclose(height[table], 0.0, atol=1e-3)


def test_two_workers_make_the_same_dataset(filmed, config: RunConfig, tmp_path: Path):
    _, digest = filmed
    assert generate(config, tmp_path / "data", episodes=3, workers=2).digest == digest
