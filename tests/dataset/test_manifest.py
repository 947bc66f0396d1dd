import errno
import os

import pytest

from twinloop.dataset import ShardEntry
from twinloop.dataset.manifest import append_entry, read_manifest
from twinloop.durable import FileDigest
from twinloop.errors import CorruptError


def entry(first: int, stop: int) -> ShardEntry:
    return ShardEntry(first, stop, 2, 3, 40, {"frames.parquet": FileDigest("ab", 7)})


def test_entries_come_back_in_order_of_attempts(tmp_path):
    path = tmp_path / "manifest.jsonl"
    for shard in (entry(8, 12), entry(0, 4), entry(4, 8)):
        append_entry(path, shard)
    manifest = read_manifest(path)
    assert manifest.entries == (entry(0, 4), entry(4, 8), entry(8, 12))
    assert not manifest.torn


def test_no_manifest_is_an_empty_one(tmp_path):
    assert read_manifest(tmp_path / "manifest.jsonl").entries == ()


def test_a_truncated_line_is_dropped(tmp_path):
    path = tmp_path / "manifest.jsonl"
    append_entry(path, entry(0, 4))
    whole = path.read_bytes()
    line = entry(4, 8).to_line()
    for kept in range(1, len(line)):
        path.write_bytes(whole + line[:kept])
        manifest = read_manifest(path)
        assert manifest.entries == (entry(0, 4),)
        assert manifest.torn


@pytest.mark.parametrize(
    "line",
    [
        b"{}\n",
        b"nonsense\n",
        b"[]\n",
        entry(0, 4).to_line().replace(b"40", b"-4"),
        entry(0, 4).to_line().replace(b"frames.parquet", b"../../x"),
    ],
)
def test_a_complete_but_invalid_line_is_corruption(tmp_path, line):
    path = tmp_path / "manifest.jsonl"
    append_entry(path, entry(8, 12))
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(CorruptError, match=r"manifest.jsonl:2"):
        read_manifest(path)


def test_overlapping_shards_are_corruption(tmp_path):
    path = tmp_path / "manifest.jsonl"
    append_entry(path, entry(0, 4))
    append_entry(path, entry(3, 8))
    with pytest.raises(CorruptError, match="overlap"):
        read_manifest(path)


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "manifest.jsonl"
    append_entry(path, entry(0, 4))
    write = os.write

    def full(fd, data):
        if len(data) <= 20:
            raise OSError(errno.ENOSPC, "no space")
        return write(fd, data[:-20])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="no space"):
            append_entry(path, entry(4, 8))
    append_entry(path, entry(8, 12))
    assert read_manifest(path).entries == (entry(0, 4), entry(8, 12))
