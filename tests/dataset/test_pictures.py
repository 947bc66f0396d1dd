import dataclasses
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.dataset.synthetic import (
    CAMERAS,
    FEATURES,
    PICTURED,
    episode_pictures,
    header,
    recording_of,
    run,
    verdict_of,
)
from twinloop.dataset import Dataset, describe, query, video, write_shard
from twinloop.dataset.pictures import picture_stats
from twinloop.dataset.stats import STATS
from twinloop.errors import DatasetError, StorageError
from twinloop.observe.recording import Feature, HeldFrames, Recording

FRONT, _, DEPTH = CAMERAS
VIDEOS = {f"{feature.name}.mp4" for feature in CAMERAS}


def columns(lengths) -> dict:
    count = len(lengths)
    return {
        "attempt": np.arange(count),
        "task": ["lift"] * count,
        "length": np.array(lengths),
        "verdict": ["accepted"] * count,
        "success": [True] * count,
    }


def write(folder, recording: Recording):
    return write_shard(folder, 0, len(recording.lengths), recording, columns(recording.lengths), fps=50)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Dataset:
    path = tmp_path_factory.mktemp("pictures") / "d"
    run(path, header(episodes=12, features=PICTURED))
    return Dataset.open(path)


def test_each_camera_is_a_file_with_a_frame_a_row(tmp_path):
    written = write(tmp_path / "s", recording_of(range(3), features=PICTURED))
    assert set(written.files) == VIDEOS | {"frames.parquet", "episodes.parquet"}
    rows = pq.read_metadata(tmp_path / "s/frames.parquet").num_rows
    assert {video.count_frames(tmp_path / "s" / name) for name in VIDEOS} == {rows} == {written.frames}
    assert not {feature.name for feature in CAMERAS} & set(pq.read_schema(tmp_path / "s/frames.parquet").names)


def test_an_episode_gets_its_own_pictures_back(dataset):
    accepted = [attempt for attempt in range(12) if verdict_of(attempt) == "accepted"]
    assert dataset.stored == len(accepted) > 4
    for index, attempt in enumerate(accepted):
        for name, wanted in episode_pictures(attempt, 7).items():
            result = dataset.pictures(index, name)
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
            assert len(result) == len(dataset.episode(index)["action"])
            closeness = np.abs(result.astype(float) - wanted)
            assert closeness.mean() < 4 if name != DEPTH.name else closeness.max() < 0.0011


def test_a_feature_that_is_no_image_is_refused(dataset):
    with pytest.raises(DatasetError, match=r"action is not an image; images: observation\.images\.front"):
        dataset.pictures(0, "action")
    with pytest.raises(DatasetError, match=r"did you mean observation\.images\.front"):
        dataset.pictures(0, "observation.images.frnt")
    with pytest.raises(DatasetError, match=r"observation\.images\.front is an image"):
        next(iter(dataset.transitions(4, seed=0, action=FRONT.name)))


def test_pictures_of_episodes_that_are_not_stored_are_not_made(tmp_path):
    rendered: list[int] = []
    recording = recording_of(range(4), features=PICTURED)
    make = recording.pictures
    assert make is not None

    def noted(episodes):
        rendered.extend(episodes.tolist())
        return make(episodes)

    watched = dataclasses.replace(recording, pictures=noted)
    keep = np.array([False, True, False, True])
    taken = watched.take(np.array([False, True, True, True])).take(np.array([True, False, True]))
    lengths = np.where(keep, recording.lengths, 0)
    one = write_shard(tmp_path / "a", 0, 4, watched, columns(lengths), fps=50, keep=keep)
    other = write_shard(tmp_path / "b", 0, 4, taken, columns(lengths), fps=50)
    assert one.files == other.files
    assert rendered == [1, 3, 1, 3]


def test_held_frames_are_written_as_the_frames_that_rows_show(tmp_path):
    recording = recording_of(range(2), features=PICTURED)
    make = recording.pictures
    assert make is not None

    def held(episodes):
        for frames in make(episodes):
            shown = {name: np.minimum(np.arange(len(values)) // 3, 2) for name, values in frames.items()}
            yield {name: HeldFrames(np.asarray(values)[:3], shown[name]) for name, values in frames.items()}

    def repeated(episodes):
        return ({name: np.asarray(values) for name, values in frames.items()} for frames in held(episodes))

    one = write(tmp_path / "held", dataclasses.replace(recording, pictures=held))
    other = write(tmp_path / "repeated", dataclasses.replace(recording, pictures=repeated))
    assert one.files == other.files


def test_a_shard_without_rows_has_no_videos(tmp_path):
    empty = write_shard(tmp_path / "s", 0, 2, recording_of([], features=PICTURED), columns([0, 0]), fps=50)
    assert set(empty.files) == {"frames.parquet", "episodes.parquet"}
    row = pq.read_table(tmp_path / "s/episodes.parquet").to_pylist()[0]
    assert row[f"stats/{FRONT.name}"] is None


def test_an_encoder_failure_is_raised_and_leaves_no_thread(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    threads = threading.active_count()
    monkeypatch.setattr(video.VideoWriter, "write", refuse)
    with pytest.raises(StorageError, match="the disk is full"):
        write(tmp_path / "s", recording_of(range(4), features=PICTURED))
    assert threading.active_count() == threads


def test_a_renderer_failure_is_raised(tmp_path):
    def broken(episodes):
        yield episode_pictures(int(episodes[0]), 7)
        raise RuntimeError("no display")

    recording = dataclasses.replace(recording_of(range(4), features=PICTURED), pictures=broken)
    with pytest.raises(RuntimeError, match="no display"):
        write(tmp_path / "s", recording)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made | {FRONT.name: made[FRONT.name][1:]}, "attempt 0: .*front: uint8 of shape .* was expected"),
        (lambda made: made | {FRONT.name: made[FRONT.name] / 255}, "front: float64 of shape"),
        (lambda made: made | {DEPTH.name: made[DEPTH.name] * np.float32(np.nan)}, "depth is not finite"),
        (lambda made: {FRONT.name: made[FRONT.name]}, "wrist has no pictures"),
    ],
)
def test_pictures_that_do_not_fit_are_refused(tmp_path, change, message):
    def changed(episodes):
        for episode in episodes:
            yield change(episode_pictures(int(episode), 7))

    recording = dataclasses.replace(recording_of(range(2), features=PICTURED), pictures=changed)
    with pytest.raises(DatasetError, match=message):
        write(tmp_path / "s", recording)


def test_episodes_too_few_or_too_many_are_refused(tmp_path):
    recording = recording_of(range(3), features=PICTURED)
    make = recording.pictures
    assert make is not None
    with pytest.raises(DatasetError, match="frames expected"):
        write(tmp_path / "s", dataclasses.replace(recording, pictures=lambda episodes: make(episodes[:2])))
    many = dataclasses.replace(recording, pictures=lambda episodes: make(np.append(episodes, 0)))
    with pytest.raises(DatasetError, match="images of more than 3 episodes"):
        write(tmp_path / "s", many)
    with pytest.raises(DatasetError, match="but the recording has no images"):
        write(tmp_path / "s", dataclasses.replace(recording, pictures=None))


def test_statistics_are_of_a_few_frames_in_lerobots_scales():
    pictures = np.zeros((100, 128, 128, 3), np.uint8)
    pictures[..., 0], pictures[..., 1] = 255, 51
    stats = dict(zip(STATS, picture_stats(pictures, Feature("x", "video", (128, 128, 3))), strict=True))
    assert stats["mean"] == pytest.approx([1, 0.2, 0])
    assert stats["std"] == pytest.approx([0, 0, 0], abs=1e-6)
    assert stats["q99"] == pytest.approx([1, 0.2, 0])
    metres = np.linspace(1, 2, 100, dtype=np.float32)[:, None, None] * np.ones((1, 16, 16), np.float32)
    stats = dict(zip(STATS, picture_stats(metres, Feature("x", "depth", (16, 16, 1))), strict=True))
    assert (stats["min"], stats["max"]) == (1, 2)  # the first and the last frame are among the few
    assert stats["mean"] == pytest.approx(1.5, abs=0.01)
    assert picture_stats(metres[:1], Feature("x", "depth", (16, 16, 1)))[3] == 0


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (Feature("cam", "video", (32, 32, 1)), r"\(height, width, 3\) was expected for video"),
        (Feature("cam", "depth", (32, 32)), r"\(height, width, 1\) was expected for depth"),
        (Feature("cam", "video", (8, 32, 3)), "sides must be from 16 to 8192"),
        (Feature("../cam", "video", (32, 32, 3)), "letters, digits"),
        (Feature(".cam", "video", (32, 32, 3)), "letters, digits"),
    ],
)
def test_a_picture_that_cannot_be_stored_is_refused_in_the_header(feature, message):
    with pytest.raises(DatasetError, match=message):
        header(features=(*FEATURES, feature))


def test_pictures_are_no_columns_and_count_once(dataset):
    assert query(dataset.path, "select * from frames limit 1").num_rows == 1
    files = [file for file in dataset.path.rglob("*") if file.is_file()]
    videos = sum(file.stat().st_size for file in files if "videos" in file.parts)
    assert describe(dataset.path)["bytes"] == sum(file.stat().st_size for file in files) - videos
