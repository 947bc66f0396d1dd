"""DatasetWriter: the one process that commits shards, and resumes where the last one was killed."""

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
    """Made by `DatasetWriter.open`; a context manager that holds the dataset's lock until it ends."""

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

        verify: read everything that is there, and drop what is not as it was committed so that it is made again: for
        whoever can make it again. irreplaceable: nobody can; then what is missing or has another size is CorruptError,
        and stays. Whatever is refused is refused before anything is touched.
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
                _refuse(path, header, repair=verify)  # again, now that nobody else can change it
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
        """Plan more attempts: for data that comes in without anybody knowing how much of it there will be."""
        if episodes < self.header.episodes:
            raise DatasetError(f"{self.path}: a dataset can grow but not shrink, to {episodes} episodes")
        header = replace(self.header, episodes=episodes)
        with storage_errors(self.path):
            replace_file(self.path / HEADER, header.to_bytes(), scratch=self.path / SCRATCH)
        self.header = header

    def scratch(self, name: str) -> Path:
        """A folder for unfinished work, on the dataset's own disk; emptied when a writer opens it."""
        return self.path / SCRATCH / name

    def commit(self, draft: ShardDraft) -> None:
        """Make a shard part of the dataset: all of it, or after a kill nothing of it."""
        entry = draft.entry()
        known = self._committed.get((draft.first, draft.stop))
        if known is not None:
            # A retry of work that was done after all. It must have come out the same.
            if known != entry:
                raise CorruptError(f"{self.path}: shard {entry.name} was made again and came out different")
            shutil.rmtree(draft.folder, ignore_errors=True)
            return
        if (draft.first, draft.stop) not in set(self.plan()):
            raise DatasetError(f"{self.path}: attempts {draft.first}-{draft.stop} are no shard of this dataset")
        if not draft.folder.is_dir():
            advice = "workers on other machines need an --out that all of them share, or one like s3://bucket/run"
            raise StorageError(f"{draft.folder}: was written by a worker, and is not on this machine; {advice}")
        with storage_errors(self.path):
            if set(os.listdir(draft.folder)) != set(draft.files):
                raise DatasetError(f"{draft.folder}: holds other files than {', '.join(sorted(draft.files))}")
            target = self.path / SHARDS / entry.name
            os.rename(draft.folder, target)
            try:
                sync_folder(target.parent)
                append_entry(self.path / MANIFEST, entry)
            except OSError:
                os.rename(target, draft.folder)  # no line, no shard, also while this process lives on
                raise
        self._committed[(draft.first, draft.stop)] = entry

    def finish(self) -> str:
        """Bring the LeRobot export up to the committed shards; returns the dataset's digest."""
        dataset = Dataset(self.path, self.header, self.entries)
        digest = dataset.digest()
        with storage_errors(self.path, needed_bytes=sum(entry.size_bytes for entry in self.entries)):
            if not installed_export(self.path, digest, verify=self._verify):
                install_export(dataset)
        return digest

    def _settle(self, config_text: str) -> None:
        """Write what the folder has in common: at creation, and when the run is to have more episodes."""
        scratch = self.path / SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(exist_ok=True)  # a worker that outlives its driver by a moment may write into it meanwhile
        (self.path / SHARDS).mkdir(exist_ok=True)
        stored = _stored(self.path)
        if stored is not None and _has_config(self.path, stored):
            # The config stays the one the dataset began with, so that growing is one replaced file.
            self.header = replace(self.header, config_sha256=stored.config_sha256)
            if stored.episodes != self.header.episodes:
                replace_file(self.path / HEADER, self.header.to_bytes(), scratch=scratch)
            return
        # The header first: a folder is a dataset once it has one. A missing config is written on reopening.
        replace_file(self.path / HEADER, self.header.to_bytes(), scratch=scratch)
        replace_file(self.path / CONFIG, config_text.encode(), scratch=scratch)

    def _recover(self, *, irreplaceable: bool) -> None:
        """Make the invariant true again: a shard exists if and only if its line does."""
        manifest_path, shards = self.path / MANIFEST, self.path / SHARDS
        manifest, plan = read_manifest(manifest_path, damaged=self._verify), set(self.plan())
        kept = [entry for entry in manifest.entries if (entry.first, entry.stop) in plan]
        if irreplaceable:
            _refuse_damaged(shards, kept)
        kept = [entry for entry in kept if _intact(shards / entry.name, entry, verify=self._verify)]
        lost = bool(manifest.damaged) or len(kept) < len(manifest.entries)
        if lost:
            # The export may hold what is dropped: its videos are the shards' files under a second name.
            (self.path / EXPORT).unlink(missing_ok=True)
        if manifest.torn or lost:
            rewrite_manifest(manifest_path, kept, scratch=self.path / SCRATCH)
        names = {entry.name for entry in kept}
        for folder in shards.iterdir():
            if folder.name not in names:
                gone = self.path / SCRATCH / f"{folder.name}.gone"
                os.rename(folder, gone)  # in one step: half of a folder would be half of a shard
                shutil.rmtree(gone)
        sync_folder(shards)
        self._committed = {(entry.first, entry.stop): entry for entry in kept}


def _intact(folder: Path, entry: ShardEntry, *, verify: bool) -> bool:
    return all(is_intact(folder / name, committed, verify=verify) for name, committed in entry.files.items())


def _refuse_damaged(shards: Path, entries: Iterable[ShardEntry]) -> None:
    for entry in entries:
        for name, committed in entry.files.items():
            file = shards / entry.name / name
            if not is_intact(file, committed, verify=False):
                what = f"has {file.stat().st_size:,} bytes instead of" if file.is_file() else "is missing; it had"
                advice = "it cannot be made again: put it back from a copy, or go on in another --out"
                raise CorruptError(f"{file}: {what} {committed.bytes:,} bytes; {advice}")


def _stored(path: Path) -> Header | None:
    """The header that is there, unless it is damaged: then it was proved to be the one that is given."""
    try:
        return Header.read(path / HEADER) if (path / HEADER).exists() else None
    except CorruptError:
        return None


def _has_config(path: Path, header: Header) -> bool:
    if not (path / CONFIG).is_file():
        return False
    return not header.config_sha256 or digest_file(path / CONFIG).sha256 == header.config_sha256


def _is_proved(path: Path, header: Header) -> bool:
    """Is the dataset that lost its header the one with this header? Its export tells, and so does having nothing."""
    entries = read_manifest(path / MANIFEST, damaged=True).entries
    planned = {(entry.first, entry.stop) for entry in entries} <= set(header.plan())
    try:
        record = read_export_record(path)
    except CorruptError:
        record = None
    return planned and (not entries or (record is not None and record.digest == dataset_digest(header, entries)))


def _refuse(path: Path, header: Header, *, repair: bool) -> None:
    """Say no to a folder that is not this dataset."""
    if not path.exists():
        return
    if path.is_dir() and not (path / HEADER).exists():
        # What a writer leaves that was killed before it had written the header.
        ours = {LOCK, SCRATCH, SHARDS, f"{SCRATCH}/{HEADER}.new"}
        # Not rglob, which minds that another writer is just making the same dataset: that one is told of by the lock.
        walked = ((Path(parent), [*folders, *files]) for parent, folders, files in os.walk(path))
        found = ((parent / name).relative_to(path).as_posix() for parent, names in walked for name in names)
        stray = sorted(name for name in islice(found, 100) if name not in ours)
        if not stray:
            return
        if not (path / HEADER).exists():  # it may have come meanwhile, from a writer that began at the same moment
            some = ", ".join(stray[:5]) + (" ..." if len(stray) > 5 else "")
            raise DatasetError(f"{path}: is not a dataset and not empty (it holds {some}); choose another --out")
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "is a file")
    try:
        stored = Header.read(path / HEADER)
    except CorruptError as error:
        if repair and _is_proved(path, header):
            return
        advice = "restore it from a copy, or choose another --out"
        raise CorruptError(f"{error}; nothing here proves that it is the dataset that was given: {advice}") from None
    refuse_other(str(path), stored, header)
