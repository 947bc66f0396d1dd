"""Fetching: a dataset in a store as a folder here. What was fetched before is not fetched again."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from twinloop.dataset.layout import CONFIG, HEADER, MANIFEST, SHARDS
from twinloop.dataset.manifest import ShardEntry
from twinloop.dataset.shard import ShardDraft
from twinloop.dataset.writer import DatasetWriter
from twinloop.durable import digest_file, replace_file, storage_errors
from twinloop.errors import CorruptError

from .address import Remote
from .catalogue import read_entries, require_header
from .layout import file_key
from .objects import Objects

CACHE = "TWINLOOP_CACHE"

OnShard = Callable[[int, int], None]


def cache_folder(remote: Remote) -> Path:
    """Where the copy of this dataset is kept on this machine."""
    root = os.environ.get(CACHE) or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "twinloop")
    return Path(root).expanduser() / hashlib.sha256(remote.url.encode()).hexdigest()[:16] / remote.name


def mirror(remote: Remote, *, only: Iterable[str] | None = None, on_shard: OnShard = lambda *_: None) -> Path:
    """A folder with the shards that are committed now, for reading; every file checked by its digest as it comes.

    only: names of the files of a shard that will be read, where that is not all of them.
    """
    objects = Objects(remote)
    header = require_header(objects)
    entries, folder = read_entries(objects, header), cache_folder(remote)
    with storage_errors(folder, needed_bytes=sum(entry.size_bytes for entry in entries)):
        (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        for number, entry in enumerate(entries, start=1):
            names = [name for name in entry.files if only is None or name in only]
            download(objects, entry, folder / SHARDS / entry.name, names)
            on_shard(number, len(entries))
        for stale in (folder / SHARDS).iterdir():
            if stale.name not in {entry.name for entry in entries}:
                _remove(stale)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            for name, data in (
                (CONFIG, objects.read(CONFIG) or b""),
                (MANIFEST, b"".join(entry.to_line() for entry in entries)),
                (HEADER, header.to_bytes()),
            ):
                replace_file(folder / name, data, scratch=Path(scratch))
    return folder


def fetch(remote: Remote, out: Path, *, on_shard: OnShard = lambda *_: None) -> str:
    """A dataset of its own in `out`, with LeRobot export and the same digest; resumable. Returns the digest."""
    objects = Objects(remote)
    header = require_header(objects)
    entries = read_entries(objects, header)
    with DatasetWriter.open(out, replace(header, name=out.name), (objects.read(CONFIG) or b"").decode()) as writer:
        missing = set(writer.missing())
        for number, entry in enumerate(entries, start=1):
            if (entry.first, entry.stop) in missing:
                folder = writer.scratch(entry.name)
                with storage_errors(out, needed_bytes=entry.size_bytes):
                    download(objects, entry, folder, list(entry.files))
                counts = (entry.first, entry.stop, entry.accepted, entry.stored, entry.frames)
                writer.commit(ShardDraft(folder, *counts, entry.files))
            on_shard(number, len(entries))
        return writer.finish()


def download(objects: Objects, entry: ShardEntry, folder: Path, names: Iterable[str]) -> None:
    """Files of a shard into `folder`, each as it was committed or CorruptError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path, committed = folder / name, entry.files[name]
        if path.is_file() and path.stat().st_size == committed.bytes and digest_file(path) == committed:
            continue
        key = file_key(entry.name, name, committed)
        objects.download(key, path)
        if digest_file(path) != committed:
            path.unlink()
            raise CorruptError(f"{objects.remote}/{key}: has another content than was committed")


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
