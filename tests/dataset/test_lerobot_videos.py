import errno
import json
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.dataset.synthetic import CAMERAS, FEATURES, PICTURED, header, run
from twinloop.dataset import Dataset, _lerobot_videos, export, verify
from twinloop.dataset.video import count_frames, read_frames
from twinloop.durable import digest_file
from twinloop.errors import CorruptError

FRONT, _, DEPTH = CAMERAS


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("videos") / "d"
    run(path, header(episodes=12, features=PICTURED))
    return path


def episodes(folder: Path) -> list[dict]:
    return pq.read_table(sorted(folder.glob("meta/episodes/*/*.parquet"))).to_pylist()


def no_links(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.parametrize("chunk_files", [1000, 2])
def test_episodes_point_at_their_pictures(path, tmp_path, monkeypatch, chunk_files):
    monkeypatch.setattr(_lerobot_videos, "CHUNK_FILES", chunk_files)
    dataset = Dataset.open(path)
    files = export(dataset, tmp_path)
    assert {name: digest_file(tmp_path / name) for name in files} == files
    for row in episodes(tmp_path):
        for feature in CAMERAS:
            chunk, index, begin, end = (
                row[f"videos/{feature.name}/{what}"]
                for what in ("chunk_index", "file_index", "from_timestamp", "to_timestamp")
            )
            file = tmp_path / f"videos/{feature.name}/chunk-{chunk:03d}/file-{index:03d}.mp4"
            start, stop = round(begin * 50), round(end * 50)
            assert stop - start == row["length"]
            result = read_frames(file, feature, start, stop, fps=50)
            assert np.array_equal(result, dataset.pictures(row["episode_index"], feature.name))
    assert len({row[f"videos/{FRONT.name}/chunk_index"] for row in episodes(tmp_path)}) == (
        2 if chunk_files == 2 else 1
    )


def test_every_frame_of_a_file_is_of_one_episode(path):
    for feature in CAMERAS:
        frames = sum(count_frames(file) for file in path.glob(f"videos/{feature.name}/*/*.mp4"))
        assert frames == Dataset.open(path).frame_count


def test_a_video_is_one_file_with_two_names(path):
    linked = {file.stat().st_ino for file in path.glob("videos/**/*.mp4")}
    assert linked == {file.stat().st_ino for file in path.glob("shards/*/*.mp4")}


def test_where_the_disk_cannot_link_it_is_a_copy(path, tmp_path, monkeypatch):
    expected = export(Dataset.open(path), tmp_path / "linked")
    no_links(monkeypatch)
    assert export(Dataset.open(path), tmp_path / "copied") == expected
    assert {name: digest_file(tmp_path / "copied" / name) for name in expected} == expected
    run(tmp_path / "d", header(features=PICTURED))
    assert verify(tmp_path / "d").require().exported


def test_a_damaged_or_missing_video_is_not_exported(tmp_path, monkeypatch):
    run(tmp_path / "d", header(features=PICTURED))
    no_links(monkeypatch)
    file = tmp_path / "d/shards/000000000-000000004/observation.images.front.mp4"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptError, match=r"front\.mp4: does not have the committed content"):
        export(Dataset.open(tmp_path / "d"), tmp_path / "damaged")
    monkeypatch.undo()
    file.unlink()
    with pytest.raises(CorruptError, match=r"front\.mp4: is missing"):
        export(Dataset.open(tmp_path / "d"), tmp_path / "missing")


def test_info_has_the_video_fields_of_lerobot(path):
    info = json.loads((path / "meta/info.json").read_text())
    assert info["video_path"] == "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    assert info["features"][FRONT.name] == {
        "dtype": "video",
        "shape": [32, 48, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": 32,
            "video.width": 48,
            "video.codec": "h264",
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "is_depth_map": False,
            "video.fps": 50,
            "video.channels": 3,
            "has_audio": False,
        },
    }
    of_depth = info["features"][DEPTH.name]
    assert (of_depth["dtype"], of_depth["info"]["video.pix_fmt"]) == ("video", "gray12le")
    assert (of_depth["info"]["is_depth_map"], of_depth["info"]["video.shift"]) == (True, 3.5)


def test_statistics_have_the_shape_of_channels(path):
    stats = json.loads((path / "meta/stats.json").read_text())
    rows = episodes(path)
    for feature in CAMERAS:
        channels = feature.shape[2]
        for name, value in stats[feature.name].items():
            assert np.shape(value) == ((1,) if name == "count" else (channels, 1, 1))
            assert np.shape(rows[0][f"stats/{feature.name}/{name}"]) == np.shape(value)
        means = np.array([row[f"stats/{feature.name}/mean"] for row in rows])
        lengths = np.array([row["length"] for row in rows])
        assert stats[feature.name]["mean"] == pytest.approx(np.average(means, axis=0, weights=lengths))
        order = [np.array(stats[feature.name][name]) for name in ("min", "q01", "q10", "q50", "q90", "q99", "max")]
        assert all((low <= high).all() for low, high in pairwise(order))
    assert 0 <= np.min(stats[FRONT.name]["min"]) <= np.max(stats[FRONT.name]["max"]) <= 1
    assert stats[DEPTH.name]["max"][0][0][0] > 2


def test_a_run_that_accepted_nothing_exports_no_videos(tmp_path):
    run(tmp_path / "d", header(episodes=1, features=PICTURED))
    info = json.loads((tmp_path / "d/meta/info.json").read_text())
    assert "video.codec" not in info["features"][FRONT.name]["info"]
    assert not (tmp_path / "d/videos").exists()
    assert verify(tmp_path / "d").ok


def test_without_pictures_there_are_no_videos(tmp_path):
    run(tmp_path / "d", header(features=FEATURES))
    assert json.loads((tmp_path / "d/meta/info.json").read_text())["video_path"] is None
    assert not (tmp_path / "d/videos").exists()
