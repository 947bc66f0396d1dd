"""Replace a dataset atomically by a copy without some of its episodes.

The copy is built next to the dataset. Shards without removed episodes are hard-linked, the others are rewritten. A
removed episode leaves a row with the verdict `forgotten` and no other data, so that attempt numbers do not change.
Then the two folders are swapped and the old one is deleted. After a kill before the swap, the old dataset is intact.
After a kill later, the new dataset is in place, and running the command again deletes the rest of the old one.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import FORGOTTEN as FORGOTTEN_VERDICT
from twinloop.dataset._install import install_export, read_export_record
from twinloop.dataset.columns import REQUIRED, STATS_PREFIX
from twinloop.dataset.layout import (
    EXPORT,
    EXPORT_FOLDERS,
    FORGOTTEN,
    LOCK,
    MANIFEST,
    SCRATCH,
    SHARDS,
)  # fmt: skip
from twinloop.dataset.lock import WriterLock
from twinloop.dataset.manifest import ShardEntry
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.people.tombstones import Tombstones
from twinloop.dataset.pictures import video_file
from twinloop.dataset.reader import Dataset
from twinloop.dataset.shard import write_shard
from twinloop.dataset.video import read_frames
from twinloop.durable import copy_file, digest_file, exchange, sync_folder, sync_tree, write_file
from twinloop.observe.recording import Recording

DERIVED = ("report.html", "quality.json", "quality.html")
"""Reports computed from the data. They are deleted, because they can be generated again."""
MADE_ANEW = {MANIFEST, SHARDS, SCRATCH, LOCK, EXPORT, FORGOTTEN, *EXPORT_FOLDERS, *DERIVED}


def replace_dataset(dataset: Dataset, removed: Mapping[int, np.ndarray], stones: Tombstones) -> None:
    """Replace the dataset by a copy without the attempts in `gone`. The caller holds the dataset's lock.

    Args:
        dataset: the dataset to replace.
        gone: first attempt of a shard -> (n,) mask of the attempts to remove.
        stones: the tombstones to store.
    """
    work = _work(dataset.path)
    new, old = work / "new", work / "old"
    (new / SHARDS).mkdir(parents=True)
    (new / SCRATCH).mkdir()
    lock = WriterLock(new / LOCK)
    lock.acquire()  # keeps writers out of the new folder too, until the swap is complete
    try:
        _build(dataset, removed, stones, new)
        sync_tree(work)
        try:
            exchange(dataset.path, new)
        except OSError:
            # Some file systems cannot swap. The dataset is then missing for a moment; `clean_up` handles a kill there.
            os.rename(dataset.path, old)
            os.rename(new, dataset.path)
        sync_folder(dataset.path.parent)
        shutil.rmtree(work)
        sync_folder(dataset.path.parent)
    finally:
        lock.release()


def clean_up(path: Path) -> None:
    """Complete or undo a replacement that was killed, and delete its work folder."""
    work = _work(path)
    if not path.exists() and (work / "old").exists() and (work / "new").exists():
        os.rename(work / "new", path)  # it was complete before the old dataset was moved away
        sync_folder(path.parent)
    if work.exists() and path.exists():
        shutil.rmtree(work)
        sync_folder(path.parent)


def interrupted(folder: Path) -> Path | None:
    """Return the dataset path that belongs to a work folder of `replace_dataset`, or None for any other folder."""
    name = folder.name
    return folder.parent / name[1 : -len(_SUFFIX)] if name.startswith(".") and name.endswith(_SUFFIX) else None


_SUFFIX = ".forgetting"


def _work(path: Path) -> Path:
    return path.parent / f".{path.name}{_SUFFIX}"


def _build(dataset: Dataset, removed: Mapping[int, np.ndarray], stones: Tombstones, new: Path) -> None:
    for file in sorted(dataset.path.iterdir()):
        if file.name not in MADE_ANEW:
            _copy(file, new / file.name)
    entries = []
    for entry in dataset.entries:
        folder = new / SHARDS / entry.name
        if entry.first in removed:
            entries.append(_without(dataset, entry, removed[entry.first], folder))
        else:
            folder.mkdir()
            for name in entry.files:
                _same(dataset.path / SHARDS / entry.name / name, folder / name)
            entries.append(entry)
    write_file(new / MANIFEST, b"".join(entry.to_line() for entry in entries))
    write_file(new / FORGOTTEN, stones.to_bytes())
    if read_export_record(dataset.path) is not None:
        install_export(Dataset(new, dataset.header, tuple(entries)))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir()
        for child in source.iterdir():
            _copy(child, target / child.name)
    else:
        write_file(target, source.read_bytes())


def _same(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # the file system has no hard links
        copy_file(source, target, digest_file(source))


def _without(dataset: Dataset, entry: ShardEntry, removed: np.ndarray, folder: Path) -> ShardEntry:
    """Rewrite the shard without the attempts in `gone`. The remaining images are encoded again."""
    header, rows = dataset.header, dataset.episodes(entry)
    all_lengths, frames = to_numpy(rows["length"]), dataset.frames(entry)
    lengths = np.where(removed, 0, all_lengths)
    kept = np.flatnonzero(lengths)
    staying = np.repeat(~removed, all_lengths)
    starts = np.cumsum(all_lengths) - all_lengths
    tasks = rows["task"].to_pylist()

    def pictures(episodes: np.ndarray) -> Iterator[Mapping[str, np.ndarray]]:
        for row in kept[episodes]:
            begin, end = int(starts[row]), int(starts[row] + all_lengths[row])
            yield {
                feature.name: read_frames(
                    dataset.path / SHARDS / entry.name / video_file(feature), feature, begin, end, fps=header.fps
                )
                for feature in header.pictures
            }

    recording = Recording(
        attempts=entry.first + kept,
        lengths=lengths[kept],
        tasks=tuple(tasks[row] for row in kept),
        features=header.features,
        frames={feature.name: to_numpy(frames[feature.name])[staying] for feature in header.columns},
        pictures=pictures if header.pictures else None,
    )
    columns = {
        name: _emptied(name, rows[name].combine_chunks(), removed)
        for name in rows.column_names
        if not name.startswith(STATS_PREFIX)
    }
    draft = write_shard(
        folder, entry.first, entry.stop, recording, columns | {"length": lengths}, fps=header.fps, entering=False
    )
    return draft.entry()


def _emptied(name: str, values: pa.Array, removed: np.ndarray) -> pa.Array:
    """Return the column with null for removed attempts, or a neutral value if the column is required."""
    blanks = {"task": "", "verdict": FORGOTTEN_VERDICT, "success": False}
    if name == "attempt":
        return values
    blank = pa.scalar(blanks.get(name), REQUIRED.get(name, values.type))
    return pa.array(
        [blank.as_py() if is_removed else value for value, is_removed in zip(values.to_pylist(), removed, strict=True)],
        values.type,
    )
