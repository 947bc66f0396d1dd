"""Images for training: camera frames are decoded once, shrunk, and cached on disk for random access.

A policy reads small images. `shrink` makes them in training and on a robot, so that equal pixels give equal inputs.
Depth and masks are read at the nearest pixel, because the mean over an edge is neither the one body nor the other.
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
        """Return input name -> (n, height, width, channels), the given frames of all demonstrations concatenated."""
        ...


def shrink(pictures: np.ndarray, side_px: int) -> np.ndarray:
    """Shrink (n, height, width, 3) bytes to (n, side_px, side_px, 3). Each new pixel is the mean of its area.

    The computation uses integers, so the result does not depend on the batch or the processor. Images with one channel
    (depth and masks) are read at the pixel in the middle of the area.
    """
    height, width = pictures.shape[1:3]
    if (height, width) == (side_px, side_px):
        return pictures
    if pictures.shape[3] == 1:
        rows, columns = ((2 * np.arange(side_px) + 1) * length // (2 * side_px) for length in (height, width))
        return pictures[:, rows[:, None], columns[None, :]]
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
        start: (stored,) the episode's first row in the cached file.
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
        out = {
            feature.name: np.empty((total, self.side_px, self.side_px, feature.shape[2]), cached_type(feature))
            for feature in frames[0][0].space.pictures
        }
        done = 0
        for part, rows in frames:
            place, episode = self._places[part.source.digest], part.episode_of_frame[rows]
            stored = part.episode_index[episode]
            row = place.start[stored] + (rows - part.starts[episode]) // part.stride
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
        features, entries = part.space.pictures, part.dataset.entries
        if part.source.digest not in places:
            shard, start = _index(part.dataset, part.stride)
            files: dict[str, list[np.ndarray | None]] = {feature.name: [None] * len(entries) for feature in features}
            places[part.source.digest] = _Place(files, shard, start)
            needed[part.source.digest] = (part, set())
        needed[part.source.digest][1].update(places[part.source.digest].shard[part.episode_index].tolist())
    jobs = [
        (digest, part, feature, shard)
        for digest, (part, shards) in needed.items()
        for feature in part.space.pictures
        for shard in sorted(shards)
    ]
    total, done = sum(part.dataset.entries[shard].frames for _, part, _, shard in jobs), 0
    with ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="decoder") as pool:
        decoded = pool.map(lambda job: _file(job[1], job[1].dataset.entries[job[3]], job[2], side_px, cache), jobs)
        for (digest, part, feature, shard), file in zip(jobs, decoded, strict=True):
            places[digest].files[feature.name][shard] = file
            done += part.dataset.entries[shard].frames
            if progress is not None:
                progress(done, total)
    return CachedPictures(side_px, places)


def cached_type(feature: Feature) -> type[np.generic]:
    """Return the dtype of cached images: bytes, or half precision for depth (0.5 mm at 1 m)."""
    return np.float16 if feature.dtype == "depth" else np.uint8


def as_read(
    space: Space, observation: Mapping[str, np.ndarray], side_px: int, instructions: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return an observation as a policy of `space` saw it in training: vectors as float32, images shrunk.

    Images have their channels last: RGB and masks are bytes, depth is float32 metres.
    """

    def read(feature: Feature) -> np.ndarray:
        if feature.name == INSTRUCTION:
            return instruction_vectors(instructions)
        values = observation[feature.name]
        if not feature.is_picture:
            return np.asarray(values, np.float32)
        # The camera of a robot gives depth and masks without a channel axis.
        small = shrink(values if values.ndim == 4 else values[..., None], side_px).astype(cached_type(feature))
        return small.astype(np.float32) if feature.dtype == "depth" else small

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


def _index(dataset: Dataset, stride: int) -> tuple[np.ndarray, np.ndarray]:
    shards, starts = [], []
    for index, entry in enumerate(dataset.entries):
        counts = -(-_lengths(dataset, entry) // stride)
        begin = np.cumsum(counts) - counts
        starts.append(begin[counts > 0])
        shards.append(np.full(int((counts > 0).sum()), index))
    return np.concatenate(shards), np.concatenate(starts)


def _lengths(dataset: Dataset, entry: ShardEntry) -> np.ndarray:
    return to_numpy(dataset.episodes(entry, ["length"])["length"])


def _rows(lengths: np.ndarray, stride: int) -> np.ndarray:
    """Return the rows of a shard that are cached: every `stride`-th of each episode."""
    starts = np.cumsum(lengths) - lengths
    since_start = np.arange(lengths.sum()) - np.repeat(starts, lengths)
    return np.flatnonzero(since_start % stride == 0)


def _file(part: Demonstrations, entry: ShardEntry, feature: Feature, side_px: int, cache: Path) -> np.ndarray:
    digest = entry.files[video_file(feature)].sha256
    thinned = f"-every{part.stride}" if part.stride > 1 else ""
    path = cache / f"{digest}-{RECIPE}-{side_px}{thinned}.npy"
    rows = _rows(_lengths(part.dataset, entry), part.stride)
    shape = (len(rows), side_px, side_px, feature.shape[2])
    with storage_errors(path, needed_bytes=int(np.prod(shape)) * np.dtype(cached_type(feature)).itemsize):
        if not _is_whole(path, shape, cached_type(feature)):
            _decode(part.dataset, entry, feature, path, rows, shape)
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _is_whole(path: Path, shape: tuple[int, ...], kind: type[np.generic]) -> bool:
    """Return whether the file exists with the expected shape and type. Otherwise it is written again."""
    try:
        pictures = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return False
    except (ValueError, EOFError):
        return False
    return isinstance(pictures, np.memmap) and pictures.shape == shape and pictures.dtype == kind


def _decode(
    dataset: Dataset, entry: ShardEntry, feature: Feature, path: Path, rows: np.ndarray, shape: tuple[int, ...]
) -> None:
    video = dataset.path / SHARDS / entry.name / video_file(feature)
    # A unique name, because two runs may decode the same video at once; both write the same bytes.
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        small = np.lib.format.open_memmap(new, mode="w+", dtype=cached_type(feature), shape=shape)
        for start in range(0, entry.frames, FRAMES_AT_ONCE):
            stop = min(entry.frames, start + FRAMES_AT_ONCE)
            places = slice(*np.searchsorted(rows, (start, stop)))
            frames = read_frames(video, feature, start, stop, fps=dataset.header.fps)[rows[places] - start]
            small[places] = shrink(frames.reshape(len(frames), *feature.shape), shape[1])
        small.flush()
        with new.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(new, path)
        sync_folder(path.parent)
    finally:
        new.unlink(missing_ok=True)
