"""videos/ of the LeRobot export: the shards' own video files under LeRobot's names.

A file is linked, not encoded again nor copied: the same bytes have one digest, cost no disk and no time.
Where the disk cannot link, it is copied.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.durable import FileDigest, copy_file
from twinloop.errors import CorruptError
from twinloop.observe.recording import Feature

from . import depth
from ._lerobot_data import CHUNK_FILES
from .layout import SHARDS
from .manifest import ShardEntry
from .pictures import video_file
from .reader import Dataset
from .video import facts_of

VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


def write_videos(dataset: Dataset, out: Path) -> dict[str, FileDigest]:
    files = {}
    for feature in dataset.header.pictures:
        for number, entry in enumerate(_shards(dataset)):
            chunk, index = divmod(number, CHUNK_FILES)
            name = VIDEO_PATH.format(video_key=feature.name, chunk_index=chunk, file_index=index)
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            committed = entry.files[video_file(feature)]
            _place(_source(dataset, entry, feature), out / name, committed)
            files[name] = committed
    return files


def video_columns(dataset: Dataset, entries: Sequence[ShardEntry], lengths: np.ndarray) -> dict[str, pa.Array]:
    """Where the pictures of each stored episode of these shards are: in which file, from when to when."""
    stored = [entry.stored for entry in entries]
    numbers = {entry.first: number for number, entry in enumerate(_shards(dataset))}
    chunks, files = np.divmod(np.repeat([numbers[entry.first] for entry in entries], stored), CHUNK_FILES)
    frames = [entry.frames for entry in entries]
    begins = np.cumsum(lengths) - lengths - np.repeat(np.cumsum(frames) - frames, stored)
    fps = dataset.header.fps
    out = {}
    for feature in dataset.header.pictures:
        key = f"videos/{feature.name}"
        out[f"{key}/chunk_index"] = pa.array(chunks)
        out[f"{key}/file_index"] = pa.array(files)
        out[f"{key}/from_timestamp"] = pa.array(begins / fps)
        out[f"{key}/to_timestamp"] = pa.array((begins + lengths) / fps)
    return out


def video_feature(dataset: Dataset, feature: Feature) -> dict:
    """The entry of info.json; what only a file can tell is left out where there is none."""
    height, width, channels = feature.shape
    is_depth, is_mask = feature.dtype == "depth", feature.dtype == "mask"
    if is_mask:
        channels = 3  # of equal value, the id / 255: lerobot decodes every video that is not depth to RGB
    info: dict[str, object] = {"video.height": height, "video.width": width}
    for entry in _shards(dataset)[:1]:
        facts = facts_of(_source(dataset, entry, feature))
        info |= {"video.codec": facts.codec, "video.pix_fmt": facts.pixels}
    # lerobot 0.4 writes the name with the prefix, 0.6 reads the one without.
    info |= {"video.is_depth_map": is_depth, "is_depth_map": is_depth}
    info |= {"video.fps": dataset.header.fps, "video.channels": channels, "has_audio": False}
    if is_depth:
        info |= {"video.depth_min": depth.NEAREST_M, "video.depth_max": depth.FARTHEST_M}
        info |= {"video.shift": depth.SHIFT_M, "video.use_log": True, "depth_unit": "m"}
    if is_mask:
        info |= {"video.is_mask": True, "mask_names": list(feature.names)}
    shape = [height, width, channels]
    return {"dtype": "video", "shape": shape, "names": ["height", "width", "channels"], "info": info}


def _shards(dataset: Dataset) -> list[ShardEntry]:
    """Those that have videos, in order: the number of a shard here is that of its files in the export."""
    return [entry for entry in dataset.entries if entry.frames]


def _source(dataset: Dataset, entry: ShardEntry, feature: Feature) -> Path:
    return dataset.path / SHARDS / entry.name / video_file(feature)


def _place(source: Path, target: Path, committed: FileDigest) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise CorruptError(f"{source}: is missing, though the manifest lists it") from None
    except OSError:  # another disk, or one without links
        copy_file(source, target, committed)
