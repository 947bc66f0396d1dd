"""RemoteWriter: what DatasetWriter is for a folder, for a dataset in an object store.

Workers publish their own shards; this one process decides what is missing and counts what is there, so it is no
bottleneck, and nothing is lost with it.
"""

import shutil
import tempfile
from pathlib import Path

from twinloop.dataset.header import Header
from twinloop.dataset.identity import dataset_digest, refuse_other
from twinloop.dataset.layout import CONFIG, HEADER, SHARDS
from twinloop.dataset.manifest import ShardEntry
from twinloop.dataset.shard import ShardDraft
from twinloop.errors import DatasetError, StorageError

from .address import Remote
from .catalogue import read_entries, read_header
from .layout import entry_key, file_key, identity, snapshot_key
from .lease import LEASE_S, Lease
from .objects import Objects
from .publish import publish


class RemoteWriter:
    """Made by `RemoteWriter.open`; a context manager that holds the dataset's lease until it ends."""

    def __init__(self, remote: Remote, header: Header, lease: Lease, objects: Objects):
        self.path, self.header = remote, header
        self._lease, self._objects = lease, objects
        self._committed: dict[tuple[int, int], ShardEntry] = {}
        self._scratch = Path(tempfile.mkdtemp(prefix="twinloop-"))

    @classmethod
    def open(cls, remote: Remote, header: Header, config_text: str, *, lease_s: float = LEASE_S) -> "RemoteWriter":
        """Create the dataset, or resume it. Whatever is refused is refused before anything is touched."""
        objects = Objects(remote)
        objects.require()
        _refuse(objects, header)
        lease = Lease(objects, lease_s=lease_s)
        lease.acquire()
        try:
            _refuse(objects, header)  # again, now that nobody else can change it
            writer = cls(remote, header, lease, objects)
            objects.write(CONFIG, config_text.encode())
            objects.write(HEADER, header.to_bytes())
            writer._recover()
        except BaseException:
            lease.release()
            raise
        return writer

    def __enter__(self) -> "RemoteWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._lease.release()

    @property
    def entries(self) -> tuple[ShardEntry, ...]:
        return tuple(self._committed[key] for key in sorted(self._committed))

    @property
    def identity(self) -> str:
        return identity(self.header)

    def digest(self) -> str:
        return dataset_digest(self.header, self.entries)

    def missing(self) -> list[tuple[int, int]]:
        return [planned for planned in self.header.plan() if planned not in self._committed]

    def scratch(self, name: str) -> Path:
        return self._scratch / name

    def commit(self, draft: ShardDraft) -> None:
        """Publish a shard, unless its worker has done so: then only count it."""
        self._lease.require()
        if (draft.first, draft.stop) not in set(self.header.plan()):
            raise DatasetError(f"{self.path}: attempts {draft.first}-{draft.stop} are no shard of this dataset")
        if draft.folder.is_dir():
            publish(self.path, self.identity, draft)
        self._committed[(draft.first, draft.stop)] = draft.entry()

    def finish(self) -> str:
        """Put all entries into one object and remove files that none of them names; returns the dataset's digest.

        Only of a complete dataset: before that, a worker may be about to create the entry of such a file.
        """
        self._lease.require()
        if not self.missing():
            named = {file_key(each.name, name, file) for each in self.entries for name, file in each.files.items()}
            there = self._objects.sizes(SHARDS)
            lost = sorted(named - there.keys())
            if lost:
                raise StorageError(f"{self.path}/{lost[0]}: was published by a worker and is not there; is it the same "
                                   "store for every machine and process?")  # fmt: skip
            self._objects.write(snapshot_key(self.identity), b"".join(entry.to_line() for entry in self.entries))
            self._objects.delete(key for key in there if key not in named)
        return self.digest()

    def _recover(self) -> None:
        """Count what is committed. An entry whose files are not there, or not of their size, is taken back."""
        plan, sizes = set(self.header.plan()), self._objects.sizes(SHARDS)
        for entry in read_entries(self._objects, self.header):
            files = entry.files.items()
            intact = all(sizes.get(file_key(entry.name, name, file)) == file.bytes for name, file in files)
            if intact and (entry.first, entry.stop) in plan:
                self._committed[(entry.first, entry.stop)] = entry
            else:
                self._objects.delete([entry_key(self.identity, entry.name)])


def _refuse(objects: Objects, header: Header) -> None:
    """Say no to an address that holds something else."""
    stored = read_header(objects)
    if stored is not None:
        refuse_other(str(objects.remote), stored, header)
        return
    stray = [key for key in objects.sizes("") if not key.startswith("lock/") and key != CONFIG]
    if stray:
        some = ", ".join(stray[:5]) + (" ..." if len(stray) > 5 else "")
        raise DatasetError(f"{objects.remote}: is not a dataset and not empty (it holds {some}); choose another --out")
