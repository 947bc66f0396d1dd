"""Cameras end to end: a config with cameras gives a dataset with video, depth and camera poses."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.stories.cameras import camera_config
from twinloop.dataset import Dataset, verify
from twinloop.observe.gl import driver
from twinloop.pipeline.generate import generate, header_of
from twinloop.run.config import RunConfig

CONFIG = """
scene: {task: handover}
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, 0.0, 0.12], fov_deg: 46, width: 64, height: 48, depth: true}
  hand: {mount: wrist, position_m: [0.085, 0, -0.05], look_at_m: [0, 0, 0.035], fov_deg: 75, width: 64, height: 64, rate_hz: 5}
randomization:
  visual: {texture_pool: 20, lighting_intensity: [0.7, 1.3], camera_jitter_deg: [-2, 2], read_noise: [0, 2]}
  environment: {clutter_count: 3}
dataset: {shard_episodes: 2}
"""  # noqa: E501


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return camera_config(CONFIG)


@pytest.fixture(scope="module")
def filmed(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("filmed") / "data"
    return out, generate(config, out, episodes=4, workers=1).digest


def test_rows_equal_decoded_frames(filmed):
    path, _ = filmed
    dataset = Dataset.open(path)
    for index in range(dataset.stored):
        rows = len(dataset.episode(index)["action"])
        front = dataset.pictures(index, "observation.images.front")
        assert front.shape == (rows, 48, 64, 3)
        assert dataset.pictures(index, "observation.images.hand").shape == (rows, 64, 64, 3)
        depth_m = dataset.pictures(index, "observation.images.front_depth")
        assert depth_m.shape == (rows, 48, 64)
        assert 0.3 < np.median(depth_m) < 3.0
        # Something moves, and it is not all one colour.
        assert np.abs(np.diff(front.astype(int), axis=0)).max() > 30
        assert front.std() > 10


def test_a_slow_camera_repeats_its_last_image(filmed):
    path, _ = filmed
    hand = Dataset.open(path).pictures(0, "observation.images.hand").astype(int)
    change = np.abs(np.diff(hand, axis=0)).mean(axis=(1, 2, 3))
    fresh = np.arange(1, len(hand)) % 5 == 0
    assert np.median(change[fresh]) > 4 * np.median(change[~fresh])


def test_every_episode_stores_its_camera_poses(filmed):
    path, _ = filmed
    attempts = Dataset.open(path).attempts()
    lens = np.array(attempts["camera/front/lens"].to_pylist())
    np.testing.assert_allclose(lens[:, 2:4], [[32, 24]] * 4)
    poses = np.array(attempts["camera/front/to_mount"].to_pylist()).reshape(-1, 4, 4)
    np.testing.assert_allclose(poses[:, :3, 3], [[1.2, -0.3, 0.65]] * 4)
    assert not np.allclose(poses[0, :3, :3], poses[1, :3, :3], atol=1e-4)


def test_the_renderer_version_is_stored(filmed, config: RunConfig):
    path, _ = filmed
    drawn_by = Dataset.open(path).header.versions["opengl"]
    assert drawn_by == driver()
    assert re.search(r", \d+\.\d+", drawn_by)
    assert "opengl" not in header_of(replace(config, cameras={}), "state", 4, False).versions


def test_the_dataset_verifies_and_is_identical_with_two_workers(filmed, config: RunConfig, tmp_path: Path):
    path, digest = filmed
    assert verify(path).ok
    assert generate(config, tmp_path / "data", episodes=4, workers=2).digest == digest


def test_cameras_do_not_change_the_other_data(filmed, config: RunConfig, tmp_path: Path):
    path, _ = filmed
    generate(replace(config, cameras={}), tmp_path / "blind", episodes=4, workers=1)
    seeing, blind = (Dataset.open(folder).episode(1) for folder in (path, tmp_path / "blind"))
    for name, values in blind.items():
        np.testing.assert_array_equal(values, seeing[name])
