"""Remove the episodes of a participant from one dataset, and report the digests that included them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from twinloop.dataset.layout import (
    CONFIG,
    EXPORT,
    EXPORT_FOLDERS,
    FORGOTTEN,
    HEADER,
    LOCK,
    MANIFEST,
    SCRATCH,
    SHARDS,
)  # fmt: skip
from twinloop.dataset.lock import WriterLock
from twinloop.dataset.parquet import read_schema
from twinloop.dataset.people.consent import PARTICIPANT
from twinloop.dataset.people.tombstones import past_digests, read_tombstones
from twinloop.dataset.people.without import DERIVED, clean_up, replace_dataset
from twinloop.dataset.pictures import video_file
from twinloop.dataset.reader import Dataset
from twinloop.dataset.shard import EPISODES
from twinloop.durable import storage_errors

KNOWN = {HEADER, CONFIG, MANIFEST, SHARDS, SCRATCH, LOCK, EXPORT, FORGOTTEN, *EXPORT_FOLDERS, *DERIVED}


@dataclass(frozen=True)
class Forgotten:
    """The result of removing a participant from one dataset.

    Attributes:
        path: the dataset folder.
        episodes: number of removed episodes. In a dry run, the number that would be removed.
        digests: all digests that the dataset had while it contained the participant.
        videos: digests of the removed video files. Caches use them as keys.
        beside: other files in the folder, which are not part of a dataset. They are not changed.
    """

    path: Path
    episodes: int
    digests: frozenset[str]
    videos: frozenset[str]
    beside: tuple[str, ...]


def forget_in(path: Path, participant: str, *, today: date | None = None, dry_run: bool = False) -> Forgotten:
    """Remove the episodes of a participant from the dataset at `path`.

    If it is killed, running it again completes the removal.

    Args:
        path: the dataset folder.
        participant: pseudonym.
        today: the day to record. Default: the current day in UTC.
        dry_run: only report the episodes that would be removed.
    """
    path = path.resolve()
    with storage_errors(path):
        if dry_run:
            dataset = Dataset.open(path)
            return _result(dataset, _theirs(dataset, participant), participant)
        clean_up(path)
        lock = WriterLock(path / LOCK)
        lock.acquire()
        try:
            dataset = Dataset.open(path)
            masks = _theirs(dataset, participant)
            result = _result(dataset, masks, participant)
            if masks:
                day = datetime.now(UTC).date() if today is None else today
                tombstones = read_tombstones(path).with_one(
                    participant, dataset.header, dataset.entries, count=result.episodes, first=_first(masks), today=day
                )
                replace_dataset(dataset, masks, tombstones)
            return result
        finally:
            lock.release()


def _theirs(dataset: Dataset, participant: str) -> dict[int, np.ndarray]:
    """Return first attempt of a shard -> (n,) mask of the participant's attempts, for shards that contain any."""
    masks = {}
    for entry in dataset.entries:
        schema = read_schema(dataset.path / SHARDS / entry.name / EPISODES)
        if PARTICIPANT in schema.names:
            names = dataset.episodes(entry, [PARTICIPANT])[PARTICIPANT].to_pylist()
            mask = np.array([(name or "").casefold() == participant.casefold() for name in names], bool)
            if mask.any():
                masks[entry.first] = mask
    return masks


def _first(theirs: Mapping[int, np.ndarray]) -> int:
    return min(first + int(mask.argmax()) for first, mask in theirs.items())


def _result(dataset: Dataset, theirs: Mapping[int, np.ndarray], participant: str) -> Forgotten:
    stones = read_tombstones(dataset.path)
    digests = set(stones.digests(participant))
    if theirs:
        first = _first(theirs)
        present = past_digests(dataset.header, dataset.entries)
        before = ((past.digest, past.attempts) for past in stones.former)
        digests |= {digest for digest, attempts in (*before, *present) if attempts > first}
    return Forgotten(
        path=dataset.path,
        episodes=sum(int(mask.sum()) for mask in theirs.values()),
        digests=frozenset(digests),
        videos=frozenset(
            entry.files[video_file(feature)].sha256
            for entry in dataset.entries
            for feature in dataset.header.pictures
            if entry.first in theirs and video_file(feature) in entry.files
        ),
        beside=tuple(sorted(file.name for file in os.scandir(dataset.path) if file.name not in KNOWN)),
    )
