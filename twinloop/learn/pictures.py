"""Images for training: camera frames are decoded once, shrunk, and cached on disk for random access.

A policy reads small images. `shrink` makes them in training and on a robot, so that equal pixels give equal inputs.
The cache has one file per video of a dataset, named by the video's digest, so that another run or another dataset with
the same shard reuses it. Files are written atomically, so videos that a killed run decoded are not decoded again.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from twinloop.dataset import Dataset, ShardEntry
from twinloop.dataset.layout import SHARDS
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.pictures import video_file
from twinloop.dataset.video import read_frames
from twinloop.durable import storage_errors, sync_folder
from twinloop.errors import DatasetError
from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.space import Space
from twinloop.observe.instruction import INSTRUCTION, instruction_vectors
from twinloop.observe.recording import Feature

RECIPE = "area1"
"""Version of the shrinking method. It is part of a file's name, so that another method does not use old files."""

FRAMES_AT_ONCE = 32


class PictureStore(Protocol):
    def gather(self, frames: Sequence[tuple[Demonstrations, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return input name -> (n, height, width, 3) uint8, the given frames of all demonstrations concatenated."""
        ...


def shrink(pictures: np.ndarray, side_px: int) -> np.ndarray:
    """Shrink (n, height, width, 3) bytes to (n, side_px, side_px, 3). Each new pixel is the mean of its area.

    The computation uses integers, so the result does not depend on the batch or the processor.
    """
    height, width = pictures.shape[1:3]
    if (height, width) == (side_px, side_px):
        return pictures
    rows = _covered(pictures, axis=1, count=side_px, most=255)
    sums = _covered(rows, axis=2, count=side_px, most=255 * height)
    area = height * width
    return ((sums + area // 2) // area).astype(np.uint8)


def _covered(values: np.ndarray, *, axis: int, count: int, most: int) -> np.ndarray:
    """Sum the values over `count` equal spans of an axis. The sums are multiplied by `count` to stay integers.

    Args:
        most: the largest value, which determines the integer type.
    """
    length = values.shape[axis]
    kind = np.int32 if most * length * count < 1 << 31 else np.int64
    edges = np.arange(count + 1) * length
    whole, rest = edges // count, (edges % count).astype(kind)
    before = np.zeros((*values.shape[:axis], length + 1, *values.shape[axis + 1 :]), kind)
    np.cumsum(values, axis=axis, out=before[(slice(None),) * axis + (slice(1, None),)])
    partial = values.take(np.minimum(whole, length - 1), axis=axis)
    shape = [1] * values.ndim
    shape[axis] = count + 1
    return np.diff(count * before.take(whole, axis=axis) + rest.reshape(shape) * partial, axis=axis)


@dataclass(frozen=True)
class _Place:
    """Location of a dataset's stored episodes in the cache.

    Attributes:
        files: input name -> a memory-mapped array per shard, or None for shards that are not needed.
        shard: (stored,) index of the episode's shard.
        start: (stored,) the episode's first row in the shard.
    """

    files: dict[str, list[np.ndarray | None]]
    shard: np.ndarray
    start: np.ndarray


class CachedPictures:
    """A `PictureStore` of memory-mapped files, created by `open_pictures`."""

    def __init__(self, side_px: int, places: dict[str, _Place]):
        self.side_px, self._places = side_px, places

    def gather(self, frames: Sequence[tuple[Demonstrations, np.ndarray]]) -> dict[str, np.ndarray]:
        total = sum(len(rows) for _, rows in frames)
        names = next(iter(self._places.values())).files
        out = {name: np.empty((total, self.side_px, self.side_px, 3), np.uint8) for name in names}
        done = 0
        for part, rows in frames:
            place, episode = self._places[part.source.digest], part.episode_of_frame[rows]
            stored = part.episode_index[episode]
            row = place.start[stored] + rows - part.starts[episode]
            for shard in np.unique(place.shard[stored]):
                in_shard = np.flatnonzero(place.shard[stored] == shard)
                for name, files in place.files.items():
                    file = files[shard]
                    if file is None:
                        raise DatasetError(f"{part.source.path}: {name}: images of an episode were not decoded")
                    out[name][done + in_shard] = file[row[in_shard]]
            done += len(rows)
        return out


def open_pictures(
    parts: Sequence[Demonstrations],
    side_px: int,
    *,
    cache: Path,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CachedPictures:
    """Return the images of all episodes of `parts`. Videos that are not in the cache are decoded.

    Args:
        progress: called with (frames available, frames in total).
    """
    with storage_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
    needed: dict[str, tuple[Demonstrations, set[int]]] = {}
    places: dict[str, _Place] = {}
    for part in parts:
        features, entries = read_pictures(part.space), part.dataset.entries
        if part.source.digest not in places:
            shard, start = _index(part.dataset)
            files: dict[str, list[np.ndarray | None]] = {feature.name: [None] * len(entries) for feature in features}
            places[part.source.digest] = _Place(files, shard, start)
            needed[part.source.digest] = (part, set())
        needed[part.source.digest][1].update(places[part.source.digest].shard[part.episode_index].tolist())
    jobs = [
        (digest, part.dataset, feature, shard)
        for digest, (part, shards) in needed.items()
        for feature in part.space.pictures
        for shard in sorted(shards)
    ]
    total, done = sum(dataset.entries[shard].frames for _, dataset, _, shard in jobs), 0
    with ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="decoder") as pool:
        decoded = pool.map(lambda job: _file(job[1], job[1].entries[job[3]], job[2], side_px, cache), jobs)
        for (digest, dataset, feature, shard), file in zip(jobs, decoded, strict=True):
            places[digest].files[feature.name][shard] = file
            done += dataset.entries[shard].frames
            if progress is not None:
                progress(done, total)
    return CachedPictures(side_px, places)


def read_pictures(space: Space) -> tuple[Feature, ...]:
    """Return the image features of this space. Raise DatasetError for depth, which no policy reads yet."""
    for feature in space.pictures:
        if feature.dtype == "depth":
            valid = ", ".join(picture.name for picture in space.pictures if picture.dtype == "video") or "none here"
            raise DatasetError(f"{feature.name}: is a depth image, which no policy reads yet; valid images: {valid}")
    return space.pictures


def as_read(
    space: Space, observation: Mapping[str, np.ndarray], side_px: int, instructions: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return an observation as a policy of `space` saw it in training: vectors as float32, images shrunk."""

    def read(feature: Feature) -> np.ndarray:
        if feature.name == INSTRUCTION:
            return instruction_vectors(instructions)
        values = observation[feature.name]
        return shrink(values, side_px) if feature.is_picture else np.asarray(values, np.float32)

    return {feature.name: read(feature) for feature in space.inputs}


def default_cache() -> Path:
    """Return the default folder of the image cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinloop" / "pictures"


def forget_pictures(videos: Iterable[str], *, cache: Path) -> int:
    """Remove the cached images of the videos with these digests. Return the number of removed files."""
    if not cache.is_dir():
        return 0
    with storage_errors(cache):
        files = [file for video in sorted(videos) for file in cache.glob(f"{video}-*")]
        for file in files:
            file.unlink(missing_ok=True)
    return len(files)


def _index(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    shards, starts = [], []
    for index, entry in enumerate(dataset.entries):
        lengths = to_numpy(dataset.episodes(entry, ["length"])["length"])
        begin = np.cumsum(lengths) - lengths
        starts.append(begin[lengths > 0])
        shards.append(np.full(int((lengths > 0).sum()), index))
    return np.concatenate(shards), np.concatenate(starts)


def _file(dataset: Dataset, entry: ShardEntry, feature: Feature, side_px: int, cache: Path) -> np.ndarray:
    path = cache / f"{entry.files[video_file(feature)].sha256}-{RECIPE}-{side_px}.npy"
    shape = (entry.frames, side_px, side_px, 3)
    with storage_errors(path, needed_bytes=int(np.prod(shape))):
        if not _is_whole(path, shape):
            _decode(dataset, entry, feature, path, shape)
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _is_whole(path: Path, shape: tuple[int, ...]) -> bool:
    """Return whether the file exists with the expected shape and type. Otherwise it is written again."""
    try:
        pictures = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return False
    except (ValueError, EOFError):
        return False
    return isinstance(pictures, np.memmap) and pictures.shape == shape and pictures.dtype == np.uint8


def _decode(dataset: Dataset, entry: ShardEntry, feature: Feature, path: Path, shape: tuple[int, ...]) -> None:
    video = dataset.path / SHARDS / entry.name / video_file(feature)
    # A unique name, because two runs may decode the same video at once; both write the same bytes.
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        small = np.lib.format.open_memmap(new, mode="w+", dtype=np.uint8, shape=shape)
        for start in range(0, entry.frames, FRAMES_AT_ONCE):
            stop = min(entry.frames, start + FRAMES_AT_ONCE)
            small[start:stop] = shrink(read_frames(video, feature, start, stop, fps=dataset.header.fps), shape[1])
        small.flush()
        with new.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(new, path)
        sync_folder(path.parent)
    finally:
        new.unlink(missing_ok=True)
