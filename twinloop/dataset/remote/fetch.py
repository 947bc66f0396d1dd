"""Download a dataset from an object store into a folder. Files that are already there are not downloaded again."""

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
    """Return the local cache folder of this dataset."""
    root = os.environ.get(CACHE) or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "twinloop")
    return Path(root).expanduser() / hashlib.sha256(remote.url.encode()).hexdigest()[:16] / remote.name


def mirror(remote: Remote, *, only: Iterable[str] | None = None, on_shard: OnShard = lambda *_: None) -> Path:
    """Copy the committed shards into the local cache, for reading, and return the folder.

    The digest of every file is checked.

    Args:
        remote: address of the dataset.
        only: names of the shard files to download. Default: all.
        on_shard: called with (shards done, shards in total) after each shard.
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
    """Download the dataset into the folder `out`, write its LeRobot export and return its digest.

    The copy has the same digest. A download that was interrupted resumes when it is run again.
    """
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
    """Download the files `names` of a shard into `folder`.

    Raises:
        CorruptError: a file is missing or its digest is not the committed one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path, committed = folder / name, entry.files[name]
        if path.is_file() and path.stat().st_size == committed.bytes and digest_file(path) == committed:
            continue
        key = file_key(entry.name, name, committed)
        objects.download(key, path)
        if digest_file(path) != committed:
            path.unlink()
            raise CorruptError(f"{objects.remote}/{key}: does not have the committed content")


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
