"""Promise: with an encoder ten times too slow no frame is lost, and memory stays at that of two episodes."""

import dataclasses
import threading
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.dataset.synthetic import FEATURES, recording_of
from tests.faults.counts import times
from twinloop.dataset import ShardDraft, video, write_shard
from twinloop.observe.recording import Feature

CAMERA = Feature("observation.images.front", "video", (120, 160, 3))


def films(lengths: np.ndarray, alive: list[int]) -> Iterator[Mapping[str, np.ndarray]]:
    """Make images without rendering; `alive` counts the episodes in memory, and their maximum."""
    for index, length in enumerate(lengths):
        alive[0] += 1
        alive[1] = max(alive)
        yield {CAMERA.name: np.full((length, *CAMERA.shape), index % 256, np.uint8)}


def filmed(folder: Path, episodes: int) -> tuple[ShardDraft, list[int], int]:
    """The written files, the largest number of episodes of images in memory, and the peak memory in bytes."""
    recording = recording_of(range(episodes), features=(*FEATURES, CAMERA))
    alive = [0, 0]
    given = dataclasses.replace(recording, pictures=lambda which: films(recording.lengths[which], alive))
    columns = {
        "attempt": np.arange(episodes),
        "task": list(recording.tasks),
        "length": recording.lengths,
        "verdict": ["accepted"] * episodes,
        "success": [True] * episodes,
    }
    folder.mkdir()
    tracemalloc.start()
    try:
        written = write_shard(folder / "s", 0, episodes, given, columns, fps=50)
        return written, alive, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_no_frame_is_missing_and_memory_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    episodes = times(12, 80)
    undisturbed, _, _ = filmed(tmp_path / "undisturbed", episodes)
    encode, encoded, slow_lock = video.VideoWriter.write, [], threading.Lock()
    counters: list[list[int]] = []

    def slow(writer: video.VideoWriter, pictures: np.ndarray) -> None:
        began = time.perf_counter()
        encode(writer, pictures)
        time.sleep(9 * (time.perf_counter() - began))
        with slow_lock:
            encoded.append(len(pictures))
            for alive in counters:
                alive[0] -= 1

    def counting(lengths: np.ndarray, alive: list[int]) -> Iterator[Mapping[str, np.ndarray]]:
        counters[:] = [alive]
        return made(lengths, alive)

    made = films
    monkeypatch.setattr(video.VideoWriter, "write", slow)
    monkeypatch.setitem(globals(), "films", counting)
    _, _, few_bytes = filmed(tmp_path / "few", 4)
    encoded.clear()
    slowed, (_, most), many_bytes = filmed(tmp_path / "many", episodes)
    assert slowed.files == undisturbed.files
    assert sum(encoded) == slowed.frames == video.count_frames(tmp_path / "many" / "s" / f"{CAMERA.name}.mp4")
    assert most <= 2  # the one that is encoded and the one that is made
    longest = 12 * int(np.prod(CAMERA.shape))
    assert many_bytes < few_bytes + longest
    assert many_bytes < slowed.frames * np.prod(CAMERA.shape) / 2  # less than all images at once
