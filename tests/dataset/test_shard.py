import errno
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.dataset.synthetic import draft, episode_frames, header, recording_of, verdict_of
from twinloop.dataset import write_shard
from twinloop.dataset.parquet import to_numpy
from twinloop.durable import digest_file
from twinloop.errors import DatasetError, StorageError


def columns(attempts, lengths) -> dict:
    return {
        "attempt": np.array(attempts),
        "task": ["lift"] * len(attempts),
        "length": np.array(lengths),
        "verdict": ["accepted"] * len(attempts),
        "success": [True] * len(attempts),
    }


def test_rows_come_back_bit_for_bit(tmp_path):
    written = draft(tmp_path / "s", 4, 8, header())
    table = pq.read_table(tmp_path / "s/frames.parquet")
    kept = [attempt for attempt in range(4, 8) if verdict_of(attempt) == "accepted"]
    for name in episode_frames(0, 7):
        expected = np.concatenate([episode_frames(attempt, 7)[name] for attempt in kept])
        result = to_numpy(table[name])
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
    assert (written.stored, written.accepted, written.frames) == (len(kept), len(kept), table.num_rows)
    times = to_numpy(table["frame_index"]) / 50
    assert np.array_equal(to_numpy(table["timestamp"]), times.astype(np.float32))


def test_every_attempt_has_a_row_and_only_stored_ones_statistics(tmp_path):
    draft(tmp_path / "s", 4, 8, header())
    rows = pq.read_table(tmp_path / "s/episodes.parquet").to_pylist()
    assert [row["attempt"] for row in rows] == [4, 5, 6, 7]
    for row in rows:
        assert (row["stats/action"] is None) == (row["length"] == 0)
        assert (row["length"] == 0) == (row["verdict"] != "accepted")
    assert rows[0]["draw/colour"] == "blue"


def test_the_same_shard_has_the_same_bytes(tmp_path):
    one, other = (draft(tmp_path / name, 0, 4, header()) for name in "ab")
    assert one.files == other.files
    for name, file in one.files.items():
        assert digest_file(tmp_path / "a" / name) == file


def test_a_mask_picks_the_episodes_that_are_stored(tmp_path):
    recording = recording_of([0, 1, 2])
    lengths = recording.lengths * [1, 0, 1]
    keep = np.array([True, False, True])
    masked = write_shard(tmp_path / "a", 0, 3, recording, columns(range(3), lengths), fps=50, keep=keep)
    taken = write_shard(tmp_path / "b", 0, 3, recording.take(keep), columns(range(3), lengths), fps=50)
    assert masked.files == taken.files
    assert masked.stored == 2


def test_a_shard_without_rows_is_a_shard(tmp_path):
    empty = write_shard(tmp_path / "s", 0, 3, recording_of([]), columns(range(3), [0, 0, 0]), fps=50)
    assert (empty.stored, empty.frames) == (0, 0)
    assert pq.read_table(tmp_path / "s/frames.parquet").num_rows == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": np.array([5, 5, 5])}, "frames are recorded"),
        ({"attempt": np.array([1, 2, 3])}, "must count from 0 to 2"),
        ({"verdict": ["accepted"]}, "1 values for 3 attempts"),
        ({"success": ["yes", "no", "no"]}, "success"),
        ({"stats/action": [1, 2, 3]}, "are taken"),
        ({"draw/x": [1, "a", None]}, "draw/x"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, change, message):
    recording = recording_of([0, 1, 2])
    given = {**columns(range(3), recording.lengths), **change}
    with pytest.raises(DatasetError, match=message):
        write_shard(tmp_path / "s", 0, 3, recording, given, fps=50)


def test_a_missing_column_is_named(tmp_path):
    recording = recording_of([0])
    given = columns([0], recording.lengths)
    del given["verdict"]
    with pytest.raises(DatasetError, match="verdict"):
        write_shard(tmp_path / "s", 0, 1, recording, given, fps=50)


def test_recorded_attempts_must_be_of_this_shard(tmp_path):
    recording = recording_of([2, 9])
    with pytest.raises(DatasetError, match="not in range"):
        write_shard(tmp_path / "s", 0, 4, recording, columns(range(4), [0, 0, 1, 0]), fps=50)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_never_becomes_a_row(tmp_path, bad):
    recording = recording_of([0, 1, 2])
    recording.frames["action"][recording.lengths[0], 1] = bad
    with pytest.raises(DatasetError, match="attempt 1: action is not finite"):
        write_shard(tmp_path / "s", 0, 3, recording, columns(range(3), recording.lengths), fps=50)


def test_a_full_disk_gives_a_clear_message(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match=r"the disk is full \([\d,]+ bytes free, [\d,]+ bytes are needed\)"):
        draft(tmp_path / "s", 0, 4, header())
