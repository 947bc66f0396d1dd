import dataclasses
import errno
import os
from pathlib import Path

import pytest

from tests.dataset.synthetic import CONFIG_TEXT, FEATURES, PICTURED, draft, header, run
from twinloop.dataset import Dataset, DatasetWriter, verify
from twinloop.errors import CorruptError, DatasetError, LockedError, StorageError


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def open_writer(path: Path, head=None) -> DatasetWriter:
    return DatasetWriter.open(path, head or header(), CONFIG_TEXT)


def commit(writer: DatasetWriter, first: int, stop: int) -> None:
    writer.commit(draft(writer.scratch(str(first)), first, stop, writer.header))


def test_a_run_generates_only_missing_shards(tmp_path):
    with open_writer(tmp_path / "d") as writer:
        assert writer.missing() == writer.plan() == [(0, 4), (4, 8), (8, 10)]
        commit(writer, 4, 8)
        assert writer.missing() == [(0, 4), (8, 10)]
    with open_writer(tmp_path / "d") as writer:
        assert writer.missing() == [(0, 4), (8, 10)]
    assert (tmp_path / "d/config.yaml").read_text() == CONFIG_TEXT


def test_a_finished_run_finds_nothing_to_do(tmp_path):
    digest = run(tmp_path / "d", header())
    before = {name: (tmp_path / "d" / name).stat().st_mtime_ns for name in tree(tmp_path / "d") if name != "lock"}
    assert run(tmp_path / "d", header()) == digest
    assert {name: (tmp_path / "d" / name).stat().st_mtime_ns for name in before} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config_digest": "tea"}, "config_digest: c0ffee in the folder, tea in this run"),
        ({"run_seed": 8}, "run_seed: 7 in the folder, 8 in this run"),
        ({"features": FEATURES[1:]}, "feature observation.state: .* in the folder, absent in this run"),
        ({"shard_episodes": 5}, "shard_episodes: 4 in the folder, 5 in this run"),
        ({"keep_rejected": True}, "keep_rejected: False in the folder, True in this run"),
        ({"versions": {"mujoco": "4.1"}}, "versions: .*4.0.* in the folder, .*4.1.* in this run"),
        ({"episodes": 9}, "has 10 planned episodes; 9 were requested"),
    ],
)
def test_another_dataset_is_refused_and_not_touched(tmp_path, change, message):
    run(tmp_path / "d", header())
    before = tree(tmp_path / "d")
    with pytest.raises(DatasetError, match=message) as caught:
        open_writer(tmp_path / "d", header(**change))
    assert "--out" in str(caught.value)
    assert tree(tmp_path / "d") == before


@pytest.mark.parametrize("name", ["notes.txt", "config.yaml", "scratch/mine.txt", "shards/mine.txt"])
def test_a_folder_with_other_things_is_refused_and_not_touched(tmp_path, name):
    file = tmp_path / "d" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(DatasetError, match=f"not empty .it contains .*{name}"):
        open_writer(tmp_path / "d")
    assert tree(tmp_path / "d") == {name: b"mine"}


def test_a_path_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "d").write_text("mine")
    for path in (tmp_path / "d", tmp_path / "d/below"):
        with pytest.raises(StorageError, match="is a file"):
            open_writer(path)
    assert (tmp_path / "d").read_text() == "mine"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
    ],
)
def test_disk_errors_give_clear_messages(tmp_path, monkeypatch, code, message):
    def refuse(*_args, **_kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(StorageError, match=message):
        open_writer(tmp_path / "new")


def test_two_writers_do_not_meet(tmp_path):
    with open_writer(tmp_path / "d"), pytest.raises(LockedError, match=f"pid {os.getpid()}"):
        open_writer(tmp_path / "d")
    open_writer(tmp_path / "d").close()


def test_growing_keeps_full_shards_and_generates_the_short_one_again(tmp_path):
    run(tmp_path / "d", header(episodes=10))
    kept = tree(tmp_path / "d/shards/000000000-000000004")
    grown = run(tmp_path / "d", header(episodes=14))
    assert grown == run(tmp_path / "fresh", header(episodes=14))
    assert tree(tmp_path / "d/shards/000000000-000000004") == kept
    assert not (tmp_path / "d/shards/000000008-000000010").exists()
    assert Dataset.open(tmp_path / "d").header.episodes == 14
    assert verify(tmp_path / "d").ok


def test_a_shard_folder_without_a_line_is_removed(tmp_path):
    run(tmp_path / "d", header(episodes=8))
    stray = tmp_path / "d/shards/000000008-000000012"
    stray.mkdir()
    (stray / "frames.parquet").write_bytes(b"half")
    (tmp_path / "d/scratch/worker-3").mkdir()
    open_writer(tmp_path / "d", header(episodes=8)).close()
    assert not stray.exists()
    assert list((tmp_path / "d/scratch").iterdir()) == []


def test_a_torn_line_is_dropped_and_its_shard_made_again(tmp_path):
    digest = run(tmp_path / "d", header())
    manifest = tmp_path / "d/manifest.jsonl"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-9])
    assert len(Dataset.open(tmp_path / "d").entries) == 2
    with open_writer(tmp_path / "d") as writer:
        assert writer.missing() == [(8, 10)]
        assert manifest.read_bytes() == whole[: whole.rfind(b"\n", 0, -1) + 1]
    assert run(tmp_path / "d", header()) == digest


def test_verifying_drops_only_damaged_shards(tmp_path):
    digest = run(tmp_path / "d", header())
    file = tmp_path / "d/shards/000000004-000000008/frames.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with open_writer(tmp_path / "d") as writer:
        assert writer.missing() == []  # a flipped bit is found only by reading the whole file
    with DatasetWriter.open(tmp_path / "d", header(), CONFIG_TEXT, verify=True) as writer:
        assert writer.missing() == [(4, 8)]
    assert run(tmp_path / "d", header()) == digest
    assert verify(tmp_path / "d").ok


def test_verifying_mends_a_video_under_both_its_names(tmp_path):
    head = header(features=PICTURED)
    digest = run(tmp_path / "d", head)
    file = tmp_path / "d/videos/observation.images.front/chunk-000/file-000.mp4"
    file.chmod(0o644)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    DatasetWriter.open(tmp_path / "d", head, CONFIG_TEXT, verify=True).close()
    assert run(tmp_path / "d", head) == digest
    assert verify(tmp_path / "d").require().exported


def test_a_repeated_commit_is_the_same_commit_or_an_error(tmp_path):
    with open_writer(tmp_path / "d") as writer:
        commit(writer, 0, 4)
        commit(writer, 0, 4)
        assert [entry.first for entry in Dataset.open(tmp_path / "d").entries] == [0]
        assert list((tmp_path / "d/scratch").iterdir()) == []
        other = draft(writer.scratch("x"), 0, 4, header(run_seed=8))
        with pytest.raises(CorruptError, match="with a different result"):
            writer.commit(other)


def test_only_planned_and_complete_shards_are_committed(tmp_path):
    with open_writer(tmp_path / "d") as writer:
        with pytest.raises(DatasetError, match="not a shard of this dataset"):
            writer.commit(draft(writer.scratch("a"), 1, 4, header()))
        extra = draft(writer.scratch("b"), 0, 4, header())
        (extra.folder / "more.txt").write_text("?")
        with pytest.raises(DatasetError, match="other files"):
            writer.commit(extra)
        missing = dataclasses.replace(draft(writer.scratch("c"), 0, 4, header()), folder=tmp_path / "gone")
        with pytest.raises(StorageError):
            writer.commit(missing)
    assert Dataset.open(tmp_path / "d").entries == ()


def test_a_writer_continues_after_a_full_disk(tmp_path, monkeypatch):
    write = os.write

    def full(fd, data):
        if b'"first"' in bytes(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data)

    with open_writer(tmp_path / "d") as writer:
        made = draft(writer.scratch("0"), 0, 4, header())
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(StorageError, match="the disk is full"):
                writer.commit(made)
        assert list((tmp_path / "d/shards").iterdir()) == []
        writer.commit(made)
    assert verify(tmp_path / "d").ok
