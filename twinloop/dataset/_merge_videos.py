"""Videos of a merge: unchanged copies of the input shards' videos.

Cutting a video would need another lossy encoding, so datasets with images are merged by complete shards. The digest is
checked while copying, so that damage does not spread. Files are copied and not linked, so that later damage to one
dataset does not affect the other.
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
    """Copy the videos of a shard into `folder` and return them with their statistics."""
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
                raise CorruptError(f"{source}: is not in the manifest, but the header has this image")
            copy_file(source, folder / name, entry.files[name])
            files[name] = entry.files[name]
    return PictureFiles(files, stats, {})


def codec_differences(one: Dataset, other: Dataset) -> list[Difference]:
    """Return the image features whose codecs differ.

    An export has one codec per image feature, but two FFmpeg builds may have used different ones.
    """
    different = []
    for feature in one.header.pictures:
        codec, other_codec = (_codec(dataset, video_file(feature)) for dataset in (one, other))
        if codec and other_codec and codec != other_codec:
            different.append(Difference(f"codec of {feature.name}", codec, other_codec))
    return different


def _codec(dataset: Dataset, name: str) -> str | None:
    for entry in dataset.entries:
        if entry.frames:
            facts = facts_of(dataset.path / SHARDS / entry.name / name)
            return f"{facts.codec} {facts.pixels}"
    return None
