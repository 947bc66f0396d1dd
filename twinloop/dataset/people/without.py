"""A dataset without some of its episodes takes the place of the one with them, in one step.

It is built beside the old one: shards that hold nothing of what is to go are linked, the others written again. Where
an episode was, a row stays that says `forgotten` and nothing else, so that numbers of attempts keep their meaning.
Then the two folders are swapped, and the old one is removed. Killed before the swap, the old dataset is there, whole;
killed after, the new one is, and what is left of the old lies beside it until the same command is run again.
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
"""Beside the data, drawn from it, and drawn again when asked for: it goes."""
MADE_ANEW = {MANIFEST, SHARDS, SCRATCH, LOCK, EXPORT, FORGOTTEN, *EXPORT_FOLDERS, *DERIVED}


def replace_dataset(dataset: Dataset, gone: Mapping[int, np.ndarray], stones: Tombstones) -> None:
    """gone: a shard's first attempt -> the (n,) mask of its attempts that are to go. The caller holds the lock."""
    work = _work(dataset.path)
    new, old = work / "new", work / "old"
    (new / SHARDS).mkdir(parents=True)
    (new / SCRATCH).mkdir()
    lock = WriterLock(new / LOCK)
    lock.acquire()  # nobody writes to either before this is over
    try:
        _build(dataset, gone, stones, new)
        sync_tree(work)
        try:
            exchange(dataset.path, new)
        except OSError:
            # Not on every disk. Then there is a moment without a dataset; `clean_up` knows what to do about it.
            os.rename(dataset.path, old)
            os.rename(new, dataset.path)
        sync_folder(dataset.path.parent)
        shutil.rmtree(work)
        sync_folder(dataset.path.parent)
    finally:
        lock.release()


def clean_up(path: Path) -> None:
    """Finish what a kill interrupted. With the dataset in its place, what lies beside it is unfinished or too much."""
    work = _work(path)
    if not path.exists() and (work / "old").exists() and (work / "new").exists():
        os.rename(work / "new", path)  # it was whole before the old one was moved away
        sync_folder(path.parent)
    if work.exists() and path.exists():
        shutil.rmtree(work)
        sync_folder(path.parent)


def interrupted(folder: Path) -> Path | None:
    """The dataset that a folder was to become or was, if it is one that `replace_dataset` leaves when it is killed."""
    name = folder.name
    return folder.parent / name[1 : -len(_SUFFIX)] if name.startswith(".") and name.endswith(_SUFFIX) else None


_SUFFIX = ".forgetting"


def _work(path: Path) -> Path:
    return path.parent / f".{path.name}{_SUFFIX}"


def _build(dataset: Dataset, gone: Mapping[int, np.ndarray], stones: Tombstones, new: Path) -> None:
    for file in sorted(dataset.path.iterdir()):
        if file.name not in MADE_ANEW:
            _copy(file, new / file.name)
    entries = []
    for entry in dataset.entries:
        folder = new / SHARDS / entry.name
        if entry.first in gone:
            entries.append(_without(dataset, entry, gone[entry.first], folder))
        else:
            folder.mkdir()
            for name in entry.files:
                _same(dataset.path / SHARDS / entry.name / name, folder / name)
            entries.append(entry)
    write_file(new / MANIFEST, b"".join(entry.to_line() for entry in entries))
    write_file(new / FORGOTTEN, stones.to_json().encode())
    if read_export_record(dataset.path) is not None:
        install_export(Dataset(new, dataset.header, tuple(entries)))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir()
        for each in source.iterdir():
            _copy(each, target / each.name)
    else:
        write_file(target, source.read_bytes())


def _same(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a disk without links
        copy_file(source, target, digest_file(source))


def _without(dataset: Dataset, entry: ShardEntry, gone: np.ndarray, folder: Path) -> ShardEntry:
    """The shard again. Pictures that stay are encoded once more, where others of the same file go."""
    header, rows = dataset.header, dataset.episodes(entry)
    every, frames = to_numpy(rows["length"]), dataset.frames(entry)
    lengths = np.where(gone, 0, every)
    kept = np.flatnonzero(lengths)
    staying = np.repeat(~gone, every)
    starts = np.cumsum(every) - every
    tasks = rows["task"].to_pylist()

    def pictures(episodes: np.ndarray) -> Iterator[Mapping[str, np.ndarray]]:
        for row in kept[episodes]:
            begin, end = int(starts[row]), int(starts[row] + every[row])
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
        name: _emptied(name, rows[name].combine_chunks(), gone)
        for name in rows.column_names
        if not name.startswith(STATS_PREFIX)
    }
    draft = write_shard(
        folder, entry.first, entry.stop, recording, columns | {"length": lengths}, fps=header.fps, entering=False
    )
    return draft.entry()


def _emptied(name: str, values: pa.Array, gone: np.ndarray) -> pa.Array:
    """Nothing of what is gone; of the columns that every attempt must have, what says the least."""
    least = {"task": "", "verdict": FORGOTTEN_VERDICT, "success": False}
    if name == "attempt":
        return values
    nothing = pa.scalar(least.get(name), REQUIRED.get(name, values.type))
    return pa.array(
        [nothing.as_py() if left else value for value, left in zip(values.to_pylist(), gone, strict=True)], values.type
    )
