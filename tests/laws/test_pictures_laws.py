"""Laws of recording images: a run waits for slow encoders and drops no frame."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from twinloop.dataset import Dataset, video
from twinloop.errors import RenderError
from twinloop.observe.gl import context
from twinloop.observe.renderer import Renderer
from twinloop.pipeline.generate import generate
from twinloop.run.config import DatasetConfig, config_from_text

CONFIG = """
cameras:
  front: {position_m: [1.2, -0.3, 0.65], look_at_m: [0.42, 0.0, 0.12], width: 32, height: 32, rate_hz: 10, depth: true}
randomization:
  visual: {read_noise: [0, 2], shutter_ms: 10, depth_edge_noise_px: 0.5}
dataset: {shard_episodes: 5}
"""


def test_the_run_waits_for_a_slow_encoder_and_drops_no_frame(tmp_path: Path, monkeypatch):
    pytest.importorskip("av", reason="needs twinloop[video]")
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    config = config_from_text(CONFIG, name="cell.yaml", folder=Path())
    undisturbed = generate(config, tmp_path / "a", episodes=5, workers=1).digest
    encode, film = video.VideoWriter.write, Renderer.film
    made, encoded, waiting, lock = 0, 0, [], threading.Lock()

    def slow_encode(writer, pictures):
        nonlocal encoded
        time.sleep(0.2)
        encode(writer, pictures)
        with lock:
            encoded += 1

    def counted_film(*args, **options):
        nonlocal made
        with lock:
            made += 1
            waiting.append(made - encoded / 2)  # two videos an episode
        return film(*args, **options)

    monkeypatch.setattr(video.VideoWriter, "write", slow_encode)
    monkeypatch.setattr(Renderer, "film", counted_film)
    assert generate(config, tmp_path / "b", episodes=5, workers=1).digest == undisturbed
    # The episode that is encoded, and the one that is made meanwhile: memory does not grow with the shard.
    assert made > 2
    assert max(waiting) <= 2
    dataset = Dataset.open(tmp_path / "b")
    for index in range(dataset.stored):
        rows = len(dataset.episode(index)["action"])
        for feature in dataset.header.pictures:
            frames = dataset.pictures(index, feature.name)
            assert len(frames) == rows
            assert np.isfinite(frames).all()


def test_two_workers_share_a_small_run_with_cameras(tmp_path: Path):
    """With shards of 64 episodes one worker would do all the work."""
    pytest.importorskip("av", reason="needs twinloop[video]")
    try:
        context()
    except RenderError as error:
        pytest.skip(f"no pictures here: {error}")
    text = CONFIG.replace("dataset: {shard_episodes: 5}\n", "")
    config = config_from_text(text, name="cell.yaml", folder=Path())
    alone = generate(config, tmp_path / "a", episodes=10, workers=1)
    shared = generate(config, tmp_path / "b", episodes=10, workers=2)
    assert shared.workers == 2
    assert shared.digest == alone.digest
    sizes = [entry.stop - entry.first for entry in Dataset.open(tmp_path / "b").entries]
    assert max(sizes) <= 5  # neither worker has more than half


def test_the_shard_size_of_a_config_without_cameras_is_unchanged():
    assert config_from_text("scene: {task: pick_and_place}", name="cell.yaml", folder=Path()).dataset == DatasetConfig(
        64
    )
