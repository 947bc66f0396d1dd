"""DatasetWriter: commits shards to a dataset folder. It resumes a run that was killed."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from twinloop.durable import digest_file, replace_file, require_utf8, storage_errors, sync_folder
from twinloop.errors import CorruptError, DatasetError, StorageError

from ._install import install_export, installed_export, is_intact, read_export_record
from .header import Header
from .identity import dataset_digest, refuse_other
from .layout import CONFIG, EXPORT, HEADER, LOCK, MANIFEST, SCRATCH, SHARDS
from .lock import WriterLock
from .manifest import ShardEntry, append_entry, read_manifest, rewrite_manifest
from .reader import Dataset
from .shard import ShardDraft


class DatasetWriter:
    """Commits shards to one dataset. Create it with `DatasetWriter.open`.

    A context manager: it holds the dataset's lock, and leaving it releases the lock.
    """

    def __init__(self, path: Path, header: Header, lock: WriterLock, *, verify: bool):
        self.path = path
        self._verify = verify
        self.header = header
        self._lock = lock
        self._committed: dict[tuple[int, int], ShardEntry] = {}

    @classmethod
    def open(
        cls, path: Path | str, header: Header, config_text: str, *, verify: bool = False, irreplaceable: bool = False
    ) -> "DatasetWriter":
        """Create the dataset at `path`, or resume it.

        A folder that holds another dataset is refused before any file is changed.

        Args:
            path: the dataset folder.
            header: the header of the run. A stored header must describe the same run.
            config_text: the content of config.yaml. A dataset that has one keeps it.
            verify: check the digest of every file, not only its size. Damaged shards are dropped and generated again.
            irreplaceable: the data cannot be generated again. A missing file or a wrong size raises CorruptError, and
                no shard is dropped because of it.
        """
        path = Path(path)
        require_utf8(path.absolute())
        header = replace(header, config_sha256=hashlib.sha256(config_text.encode()).hexdigest())
        with storage_errors(path):
            _refuse(path, header, repair=verify)
            path.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(path / LOCK)
            lock.acquire()
            try:
                _refuse(path, header, repair=verify)  # again, now that the lock keeps other writers out
                writer = cls(path, header, lock, verify=verify)
                writer._settle(config_text)
                writer._recover(irreplaceable=irreplaceable)
            except BaseException:
                lock.release()
                raise
        return writer

    def __enter__(self) -> "DatasetWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._lock.release()

    @property
    def entries(self) -> tuple[ShardEntry, ...]:
        return tuple(self._committed[key] for key in sorted(self._committed))

    def digest(self) -> str:
        return dataset_digest(self.header, self.entries)

    def plan(self) -> list[tuple[int, int]]:
        return self.header.plan()

    def missing(self) -> list[tuple[int, int]]:
        return [planned for planned in self.plan() if planned not in self._committed]

    def grow(self, episodes: int) -> None:
        """Increase the number of planned attempts, for data whose amount is not known in advance."""
        if episodes < self.header.episodes:
            raise DatasetError(f"{self.path}: cannot shrink to {episodes} episodes; a dataset can only grow")
        header = replace(self.header, episodes=episodes)
        with storage_errors(self.path):
            replace_file(self.path / HEADER, header.to_bytes(), scratch=self.path / SCRATCH)
        self.header = header

    def scratch(self, name: str) -> Path:
        """Return the path of a scratch folder on the dataset's disk. Opening a writer empties the scratch area."""
        return self.path / SCRATCH / name

    def commit(self, draft: ShardDraft) -> None:
        """Add a shard to the dataset atomically: after a kill it is either complete or absent."""
        entry = draft.entry()
        known = self._committed.get((draft.first, draft.stop))
        if known is not None:
            # A retry of a shard that is already committed. The result must be identical.
            if known != entry:
                raise CorruptError(f"{self.path}: shard {entry.name} was generated again with a different result")
            shutil.rmtree(draft.folder, ignore_errors=True)
            return
        if (draft.first, draft.stop) not in set(self.plan()):
            raise DatasetError(f"{self.path}: attempts {draft.first}-{draft.stop} are not a shard of this dataset")
        if not draft.folder.is_dir():
            advice = "workers on other machines need an --out that all of them share, or one like s3://bucket/run"
            raise StorageError(f"{draft.folder}: was written by a worker but is not on this machine; {advice}")
        with storage_errors(self.path):
            if set(os.listdir(draft.folder)) != set(draft.files):
                raise DatasetError(f"{draft.folder}: contains other files than {', '.join(sorted(draft.files))}")
            target = self.path / SHARDS / entry.name
            os.rename(draft.folder, target)
            try:
                sync_folder(target.parent)
                append_entry(self.path / MANIFEST, entry)
            except OSError:
                os.rename(target, draft.folder)  # a shard without a manifest line must not stay in shards/
                raise
        self._committed[(draft.first, draft.stop)] = entry

    def finish(self) -> str:
        """Update the LeRobot export to the committed shards and return the dataset's digest."""
        dataset = Dataset(self.path, self.header, self.entries)
        digest = dataset.digest()
        with storage_errors(self.path, needed_bytes=sum(entry.size_bytes for entry in self.entries)):
            if not installed_export(self.path, digest, verify=self._verify):
                install_export(dataset)
        return digest

    def _settle(self, config_text: str) -> None:
        """Write header and config at creation. Rewrite the header if the number of episodes changed."""
        scratch = self.path / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(exist_ok=True)  # a worker of the previous run may still be writing into it
        (self.path / SHARDS).mkdir(exist_ok=True)
        stored = _stored(self.path)
        if stored is not None and _has_config(self.path, stored):
            # The original config is kept, so that growing replaces one file only.
            self.header = replace(self.header, config_sha256=stored.config_sha256)
            if stored.episodes != self.header.episodes:
                replace_file(self.path / HEADER, self.header.to_bytes(), scratch=scratch)
            return
        # The header is written first: it makes the folder a dataset. A missing config is written on reopening.
        replace_file(self.path / HEADER, self.header.to_bytes(), scratch=scratch)
        replace_file(self.path / CONFIG, config_text.encode(), scratch=scratch)

    def _recover(self, *, irreplaceable: bool) -> None:
        """Restore the invariant: a shard folder exists if and only if its manifest line does."""
        manifest_path, shards = self.path / MANIFEST, self.path / SHARDS
        manifest, plan = read_manifest(manifest_path, damaged=self._verify), set(self.plan())
        kept = [entry for entry in manifest.entries if (entry.first, entry.stop) in plan]
        if irreplaceable:
            _refuse_damaged(shards, kept)
        kept = [entry for entry in kept if _intact(shards / entry.name, entry, verify=self._verify)]
        lost = bool(manifest.damaged) or len(kept) < len(manifest.entries)
        if lost:
            # The export may contain dropped shards: its videos are hard links to the shards' files.
            (self.path / EXPORT).unlink(missing_ok=True)
        if manifest.torn or lost:
            rewrite_manifest(manifest_path, kept, scratch=self.path / SCRATCH)
        names = {entry.name for entry in kept}
        for folder in shards.iterdir():
            if folder.name not in names:
                removed = self.path / SCRATCH / f"{folder.name}.gone"
                os.rename(folder, removed)  # atomic: a kill must not leave half of a shard folder
                shutil.rmtree(removed)
        sync_folder(shards)
        self._committed = {(entry.first, entry.stop): entry for entry in kept}


def _intact(folder: Path, entry: ShardEntry, *, verify: bool) -> bool:
    return all(is_intact(folder / name, committed, verify=verify) for name, committed in entry.files.items())


def _refuse_damaged(shards: Path, entries: Iterable[ShardEntry]) -> None:
    for entry in entries:
        for name, committed in entry.files.items():
            file = shards / entry.name / name
            if not is_intact(file, committed, verify=False):
                problem = f"has {file.stat().st_size:,} bytes instead of" if file.is_file() else "is missing; it had"
                advice = "it cannot be generated again: restore it from a copy, or continue with another --out"
                raise CorruptError(f"{file}: {problem} {committed.bytes:,} bytes; {advice}")


def _stored(path: Path) -> Header | None:
    """Return the stored header, or None if it is missing or damaged. `_refuse` has checked the damaged case."""
    try:
        return Header.read(path / HEADER) if (path / HEADER).exists() else None
    except CorruptError:
        return None


def _has_config(path: Path, header: Header) -> bool:
    if not (path / CONFIG).is_file():
        return False
    return not header.config_sha256 or digest_file(path / CONFIG).sha256 == header.config_sha256


def _is_proved(path: Path, header: Header) -> bool:
    """Return whether a dataset with a damaged header belongs to `header`.

    The digest in the export record proves it. A dataset without shards needs no proof.
    """
    entries = read_manifest(path / MANIFEST, damaged=True).entries
    planned = {(entry.first, entry.stop) for entry in entries} <= set(header.plan())
    try:
        record = read_export_record(path)
    except CorruptError:
        record = None
    return planned and (not entries or (record is not None and record.digest == dataset_digest(header, entries)))


def _refuse(path: Path, header: Header, *, repair: bool) -> None:
    """Raise an error if `path` exists and is not the dataset of `header`."""
    if not path.exists():
        return
    if path.is_dir() and not (path / HEADER).exists():
        # A writer that was killed before it wrote the header leaves only these.
        ours = {LOCK, SCRATCH, SHARDS, f"{SCRATCH}/{HEADER}.new"}
        # os.walk, because rglob fails if another writer changes the folder meanwhile. The lock reports that writer.
        walked = ((Path(parent), [*folders, *files]) for parent, folders, files in os.walk(path))
        paths = ((parent / name).relative_to(path).as_posix() for parent, names in walked for name in names)
        stray = sorted(name for name in islice(paths, 100) if name not in ours)
        if not stray:
            return
        if not (path / HEADER).exists():  # a writer that started at the same time may have written it
            listed = ", ".join(stray[:5]) + (" ..." if len(stray) > 5 else "")
            raise DatasetError(f"{path}: is not a dataset and not empty (it contains {listed}); choose another --out")
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "is a file")
    try:
        stored = Header.read(path / HEADER)
    except CorruptError as error:
        if repair and _is_proved(path, header):
            return
        advice = "restore it from a copy, or choose another --out"
        raise CorruptError(f"{error}; it cannot be verified that this is the same dataset: {advice}") from None
    refuse_other(str(path), stored, header)
