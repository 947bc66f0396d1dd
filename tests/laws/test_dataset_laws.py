"""The laws of a dataset on disk.

1. A shard exists if and only if its manifest line does, whenever the writer is killed.
2. A killed run resumes to the same dataset, file for file.
3. The export is a pure function of the committed shards; a reader sees the old one, the new one or none.
4. The same content has the same digest, in whatever order it was committed.

They hold for images and for vectors.
"""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.dataset.synthetic import CAMERAS, FEATURES, PICTURED, header, run
from tests.faults.folder import committed_shards_are_whole, files
from tests.faults.kill_states import kill_states, put_back
from twinloop.dataset import verify
from twinloop.dataset.video import VideoWriter
from twinloop.durable import digest_file


def export_is_whole_or_absent(path: Path) -> None:
    """LeRobot opens by meta/info.json: once that is there, all files of one export must be."""
    if (path / "meta/info.json").exists():
        info = json.loads((path / "meta/info.json").read_text())
        record = path / "export.json"
        if record.exists():
            listed = json.loads(record.read_text())["files"]
            assert all(digest_file(path / name).sha256 == file["sha256"] for name, file in listed.items())
        assert info["total_episodes"] == 0 or list(path.glob("data/*/*.parquet"))
        pictured = [name for name, feature in info["features"].items() if feature["dtype"] == "video"]
        assert info["total_episodes"] == 0 or all(list(path.glob(f"videos/{name}/*/*.mp4")) for name in pictured)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("story", ["new run", "grown run", "grown run with pictures"])
def test_a_run_killed_anywhere_resumes_to_the_same_dataset(tmp_path, story):
    # With pictures fewer episodes, since each state costs a run of an encoder.
    features, episodes = ((*FEATURES, CAMERAS[0]), (2, 5)) if "pictures" in story else (FEATURES, (6, 8))
    wanted = header(episodes=episodes["grown" in story], features=features)
    digest = run(tmp_path / "whole", wanted)
    expected = files(tmp_path / "whole")
    path = tmp_path / "d"
    if "grown" in story:
        run(path, header(episodes=episodes[0], features=features))
    kills = kill_states(path, lambda: run(path, wanted), tmp_path / "kills")
    assert files(path) == expected
    for moment, state in kills.states:
        put_back(state, path)
        committed_shards_are_whole(path)
        export_is_whole_or_absent(path)
        assert run(path, wanted) == digest, f"killed at change {moment}"
        assert files(path) == expected, f"killed at change {moment}"
        assert verify(path).ok
    assert kills.moments > 30  # it was killed often enough to mean something
    assert len(kills.states) > 20


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("delay_s", [0.05, 0.15, 0.3, 0.5])
def test_a_run_killed_while_it_encodes_resumes_to_the_same_dataset(tmp_path, monkeypatch, delay_s):
    """Killed from outside at a random time."""
    wanted = header(features=PICTURED)
    digest = run(tmp_path / "whole", wanted)
    child = os.fork()
    if child == 0:
        encode = VideoWriter.write

        def slow(writer: VideoWriter, pictures: np.ndarray) -> None:
            for picture in pictures:
                time.sleep(0.002)
                encode(writer, picture[None])

        monkeypatch.setattr(VideoWriter, "write", slow)
        try:
            run(tmp_path / "d", wanted)
        finally:
            os._exit(0)
    time.sleep(delay_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    committed_shards_are_whole(tmp_path / "d")
    assert run(tmp_path / "d", wanted) == digest
    assert files(tmp_path / "d") == files(tmp_path / "whole")
    assert verify(tmp_path / "d").ok


@pytest.mark.parametrize("features", [FEATURES, PICTURED], ids=["vectors", "pictures"])
def test_the_digest_does_not_depend_on_the_order_of_commits(tmp_path, features):
    head = header(features=features)
    assert run(tmp_path / "a", head) == run(tmp_path / "b", head, reverse=True)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_the_export_follows_from_the_shards_alone(tmp_path):
    """Made at once, after growing twice, or again from scratch: the same bytes."""
    run(tmp_path / "once", header(episodes=12, features=PICTURED))
    for episodes in (3, 7, 12):
        run(tmp_path / "grown", header(episodes=episodes, features=PICTURED))
    assert files(tmp_path / "grown") == files(tmp_path / "once")
    expected = files(tmp_path / "once")
    for name in ("meta", "data", "videos"):
        shutil.rmtree(tmp_path / "once" / name)
        run(tmp_path / "once", header(episodes=12, features=PICTURED))
        assert files(tmp_path / "once") == expected


def test_other_values_have_another_digest(tmp_path):
    digests = {run(tmp_path / str(seed), header(run_seed=seed)) for seed in range(3)}
    assert len(digests) == 3
