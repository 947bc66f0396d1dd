"""Videos of a merge: those of the inputs' shards, copied as they are.

A video cannot be cut without encoding it again, at a loss, so a dataset with pictures is merged by whole shards. Every
byte is held against what was committed on its way, so that damage is not passed on. Copied, not linked: what happens to
one dataset must not happen to the other.
"""

from pathlib import Path

from twinloop.durable import copy_file
from twinloop.errors import CorruptError

from .columns import STATS_PREFIX
from .identity import Difference
from .layout import SHARDS
from .manifest import ShardEntry
from .parquet import to_numpy
from .pictures import PictureFiles, video_file
from .reader import Dataset
from .stats import STATS
from .video import facts_of


def copied_pictures(dataset: Dataset, entry: ShardEntry, folder: Path) -> PictureFiles:
    """Put the videos of a shard into `folder`; their statistics come along."""
    folder.mkdir(parents=True, exist_ok=True)
    files, stats = {}, {}
    names = [STATS_PREFIX + feature.name for feature in dataset.header.pictures]
    rows = dataset.episodes(entry, ["length", *names])
    stored = to_numpy(rows["length"]) > 0
    for feature in dataset.header.pictures:
        flat = rows[STATS_PREFIX + feature.name].combine_chunks().flatten().to_numpy()
        stats[feature.name] = flat.reshape(int(stored.sum()), len(STATS), feature.shape[2])
        if entry.frames:
            name = video_file(feature)
            source = dataset.path / SHARDS / entry.name / name
            if name not in entry.files:
                raise CorruptError(f"{source}: is not in the manifest, though the header has this picture")
            copy_file(source, folder / name, entry.files[name])
            files[name] = entry.files[name]
    return PictureFiles(files, stats, {})


def codec_differences(one: Dataset, other: Dataset) -> list[Difference]:
    """An export has one codec a picture; two builds of FFmpeg may have encoded with two."""
    found = []
    for feature in one.header.pictures:
        mine, theirs = (_codec(dataset, video_file(feature)) for dataset in (one, other))
        if mine and theirs and mine != theirs:
            found.append(Difference(f"codec of {feature.name}", mine, theirs))
    return found


def _codec(dataset: Dataset, name: str) -> str | None:
    for entry in dataset.entries:
        if entry.frames:
            facts = facts_of(dataset.path / SHARDS / entry.name / name)
            return f"{facts.codec} {facts.pixels}"
    return None
