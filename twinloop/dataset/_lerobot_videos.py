"""videos/ of the LeRobot export: the shards' video files under LeRobot's names.

Files are hard-linked, which needs no encoding and no disk space and keeps the digest. If the file system cannot link,
they are copied.
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
    """Return the columns that locate the video of each stored episode: chunk, file, first and last timestamp."""
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
    """Return the entry of info.json. Codec and pixel format are read from a file and left out if there is none."""
    height, width, channels = feature.shape
    is_depth, is_mask = feature.dtype == "depth", feature.dtype == "mask"
    if is_mask:
        channels = 3  # all equal to id / 255, because lerobot decodes every video except depth to RGB
    info: dict[str, object] = {"video.height": height, "video.width": width}
    for entry in _shards(dataset)[:1]:
        facts = facts_of(_source(dataset, entry, feature))
        info |= {"video.codec": facts.codec, "video.pix_fmt": facts.pixels}
    # lerobot 0.4 writes the key with the prefix, 0.6 reads the key without it.
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
    """Return the shards with videos, in order. The index of a shard is the number of its files in the export."""
    return [entry for entry in dataset.entries if entry.frames]


def _source(dataset: Dataset, entry: ShardEntry, feature: Feature) -> Path:
    return dataset.path / SHARDS / entry.name / video_file(feature)


def _place(source: Path, target: Path, committed: FileDigest) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise CorruptError(f"{source}: is missing, but the manifest lists it") from None
    except OSError:  # another file system, or one without hard links
        copy_file(source, target, committed)
