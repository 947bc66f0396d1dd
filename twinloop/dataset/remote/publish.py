"""Commit a worker's shard to an object store atomically."""

import shutil
from dataclasses import dataclass

from twinloop.dataset.manifest import ShardEntry
from twinloop.dataset.shard import ShardDraft
from twinloop.errors import CorruptError

from .address import Remote
from .layout import entry_key, file_key
from .objects import Objects


@dataclass(frozen=True)
class Store:
    """Address and identity of a dataset in an object store."""

    remote: Remote
    identity: str


def publish(remote: Remote, identity: str, draft: ShardDraft) -> None:
    """Upload the files of the shard, then create its entry, which only one worker can do.

    A second worker, after a retry or from an earlier run, must have produced the same shard.

    Raises:
        CorruptError: the entry exists and differs.
    """
    objects, entry = Objects(remote), draft.entry()
    for name, file in entry.files.items():
        objects.upload(draft.folder / name, file_key(entry.name, name, file))
    key = entry_key(identity, entry.name)
    if not objects.create(key, entry.to_line()):
        stored = objects.read(key)
        if stored is None or ShardEntry.from_line(stored.rstrip(b"\n"), where=f"{remote}/{key}") != entry:
            raise CorruptError(f"{remote}/{key}: shard {entry.name} was generated again with a different result")
    shutil.rmtree(draft.folder, ignore_errors=True)
