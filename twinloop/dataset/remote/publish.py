"""Publishing: a worker's shard becomes part of the dataset, all of it or nothing."""

import shutil

from twinloop.dataset.manifest import ShardEntry
from twinloop.dataset.shard import ShardDraft
from twinloop.errors import CorruptError

from .address import Remote
from .layout import entry_key, file_key
from .objects import Objects


def publish(remote: Remote, identity: str, draft: ShardDraft) -> None:
    """Files first, under names made of their content, then the entry, which one worker only can create.

    Whoever comes second, after a retry or from a run that was given up for dead, must have made the same.
    """
    objects, entry = Objects(remote), draft.entry()
    for name, file in entry.files.items():
        objects.upload(draft.folder / name, file_key(entry.name, name, file))
    key = entry_key(identity, entry.name)
    if not objects.create(key, entry.to_line()):
        there = objects.read(key)
        if there is None or ShardEntry.from_line(there.rstrip(b"\n")) != entry:
            raise CorruptError(f"{remote}/{key}: shard {entry.name} was made again and came out different")
    shutil.rmtree(draft.folder, ignore_errors=True)
