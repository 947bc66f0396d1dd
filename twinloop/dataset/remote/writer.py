"""RemoteWriter: the counterpart of DatasetWriter for a dataset in an object store.

Workers publish their own shards. The writer only tracks which shards are missing, so it is not a bottleneck, and no
shard is lost if it is killed.
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
    """Tracks the committed shards of one dataset. Create it with `RemoteWriter.open`.

    A context manager: it holds the dataset's lease, and leaving it releases the lease.
    """

    def __init__(self, remote: Remote, header: Header, lease: Lease, objects: Objects):
        self.path, self.header = remote, header
        self._lease, self._objects = lease, objects
        self._committed: dict[tuple[int, int], ShardEntry] = {}
        self._scratch = Path(tempfile.mkdtemp(prefix="twinloop-"))

    @classmethod
    def open(cls, remote: Remote, header: Header, config_text: str, *, lease_s: float = LEASE_S) -> "RemoteWriter":
        """Create the dataset, or resume it. Another dataset at the address is refused before any object is changed."""
        objects = Objects(remote)
        objects.require()
        _refuse(objects, header)
        lease = Lease(objects, lease_s=lease_s)
        lease.acquire()
        try:
            _refuse(objects, header)  # again, now that the lease keeps other writers out
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
        """Record a shard as committed. Publish it first if its folder is still here."""
        self._lease.require()
        if (draft.first, draft.stop) not in set(self.header.plan()):
            raise DatasetError(f"{self.path}: attempts {draft.first}-{draft.stop} are not a shard of this dataset")
        if draft.folder.is_dir():
            publish(self.path, self.identity, draft)
        self._committed[(draft.first, draft.stop)] = draft.entry()

    def finish(self) -> str:
        """Write the snapshot of all entries, remove files without an entry, and return the dataset's digest.

        An incomplete dataset is left as it is, because a worker may be about to create the entry of such a file.
        """
        self._lease.require()
        if not self.missing():
            referenced = {
                file_key(entry.name, name, file) for entry in self.entries for name, file in entry.files.items()
            }
            sizes = self._objects.sizes(SHARDS)
            lost = sorted(referenced - sizes.keys())
            if lost:
                raise StorageError(f"{self.path}/{lost[0]}: was published by a worker but is missing; check that all "
                                   "machines and processes use the same store")  # fmt: skip
            self._objects.write(snapshot_key(self.identity), b"".join(entry.to_line() for entry in self.entries))
            self._objects.delete(key for key in sizes if key not in referenced)
        return self.digest()

    def _recover(self) -> None:
        """Read the committed entries. Delete entries that are not planned or have files missing or of wrong size."""
        plan, sizes = set(self.header.plan()), self._objects.sizes(SHARDS)
        for entry in read_entries(self._objects, self.header):
            files = entry.files.items()
            intact = all(sizes.get(file_key(entry.name, name, file)) == file.bytes for name, file in files)
            if intact and (entry.first, entry.stop) in plan:
                self._committed[(entry.first, entry.stop)] = entry
            else:
                self._objects.delete([entry_key(self.identity, entry.name)])


def _refuse(objects: Objects, header: Header) -> None:
    """Raise DatasetError if the address holds anything other than the dataset of `header`."""
    stored = read_header(objects)
    if stored is not None:
        refuse_other(str(objects.remote), stored, header)
        return
    stray = [key for key in objects.sizes("") if not key.startswith("lock/") and key != CONFIG]
    if stray:
        listed = ", ".join(stray[:5]) + (" ..." if len(stray) > 5 else "")
        raise DatasetError(
            f"{objects.remote}: is not a dataset and not empty (it contains {listed}); choose another --out"
        )
