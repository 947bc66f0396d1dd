"""Encode the images of a shard while the next ones are produced. Labels that come with images become columns.

A thread encodes one episode while the next is produced. The faster side waits for the slower one, so no image is
dropped and at most two episodes of images are in memory.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.durable import FileDigest
from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature, Frames, HeldFrames, Recording

from .stats import STATS, episode_stats
from .video import VideoWriter

SAMPLED_FRAMES = 8  # per episode, for its statistics; neighbouring frames are nearly equal
SAMPLED_SIDE = 32  # pixels; more would not change the statistics


@dataclass(frozen=True)
class PictureFiles:
    """The encoded images of a shard.

    Attributes:
        files: file name -> digest.
        stats: feature name -> (episodes with frames, len(STATS), channels). RGB and masks are in [0, 1], depth is in
            metres.
        columns: feature name -> (frames, *shape) of labels that are known only after rendering.
    """

    files: Mapping[str, FileDigest]
    stats: Mapping[str, np.ndarray]
    columns: Mapping[str, np.ndarray]


def video_file(feature: Feature) -> str:
    """Return the name of the feature's video file in a shard folder."""
    return f"{feature.name}.mp4"


def write_pictures(folder: Path, recording: Recording, *, fps: float) -> PictureFiles:
    """Write one video file per image feature, synced to disk on return. Without frames, no file is written."""
    features = [feature for feature in recording.features if feature.is_picture]
    labels = [feature for feature in recording.filmed if not feature.is_picture]
    episodes = np.flatnonzero(recording.lengths)
    stats = {image.name: np.empty((len(episodes), len(STATS), image.shape[2])) for image in features}
    columns = {label.name: [np.empty((0, *label.shape), label.dtype)] for label in labels}
    if not recording.filmed or len(episodes) == 0:
        return PictureFiles({}, stats, {name: parts[0] for name, parts in columns.items()})
    if recording.pictures is None:
        names = ", ".join(feature.name for feature in recording.filmed)
        raise DatasetError(f"{folder}: the header has {names}, but the recording has no images")
    pending: Future[None] | None = None
    with ExitStack() as closing:
        writers = [closing.enter_context(VideoWriter(folder / video_file(image), image, fps)) for image in features]
        thread = closing.enter_context(ThreadPoolExecutor(max_workers=1, thread_name_prefix="encoder"))
        for index, pictures in enumerate(recording.pictures(episodes)):
            if index == len(episodes):
                raise DatasetError(f"{folder}: the recording has images of more than {len(episodes)} episodes")
            _check(recording, int(episodes[index]), pictures)
            for name, parts in columns.items():
                parts.append(np.asarray(pictures[name]))
            if pending is not None:
                pending.result()
            pending = thread.submit(_encode, index, features, pictures, writers, stats)
        if pending is not None:
            pending.result()
        files = {
            video_file(feature): writer.finish(recording.total_frames)
            for feature, writer in zip(features, writers, strict=True)
        }
    return PictureFiles(files, stats, {name: np.concatenate(parts) for name, parts in columns.items()})


def _encode(
    index: int,
    features: Sequence[Feature],
    pictures: Mapping[str, Frames],
    writers: Sequence[VideoWriter],
    stats: Mapping[str, np.ndarray],
) -> None:
    for feature, writer in zip(features, writers, strict=True):
        writer.write(pictures[feature.name])
        stats[feature.name][index] = picture_stats(pictures[feature.name], feature)


def picture_stats(pictures: Frames, feature: Feature) -> np.ndarray:
    """Return (len(STATS), channels) over the pixels of a few frames, evenly spaced over the episode."""
    rows = np.unique(np.linspace(0, len(pictures) - 1, SAMPLED_FRAMES).round().astype(np.int64))
    stride = max(1, max(feature.shape[:2]) // SAMPLED_SIDE)
    pixels = pictures[rows, ::stride, ::stride].reshape(-1, feature.shape[2]).astype(np.float32)
    if feature.dtype != "depth":
        pixels /= 255
    return episode_stats(pixels, np.array([len(pixels)]))[0]


def expected_frames(feature: Feature, length: int) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and dtype of an episode's frames. Depth and masks have no channel axis."""
    flat = feature.dtype in ("depth", "mask")
    dtypes = {"video": np.uint8, "mask": np.uint8, "depth": np.float32}
    return (length, *(feature.shape[:2] if flat else feature.shape)), np.dtype(dtypes.get(feature.dtype, feature.dtype))


def _check(recording: Recording, episode: int, pictures: Mapping[str, Frames]) -> None:
    attempt, length = recording.attempts[episode], int(recording.lengths[episode])
    for feature in recording.filmed:
        if feature.name not in pictures:
            content = "pictures" if feature.is_picture else "values"
            raise DatasetError(f"attempt {attempt}: {feature.name} has no {content}")
        given = pictures[feature.name]
        is_depth = feature.dtype == "depth"
        shape, dtype = expected_frames(feature, length)
        if given.shape != shape or given.dtype != dtype:
            problem = f"{given.dtype} of shape {given.shape} was given; {dtype} of shape {shape} was expected"
            raise DatasetError(f"attempt {attempt}: {feature.name}: {problem}")
        if is_depth and not np.isfinite(given.images if isinstance(given, HeldFrames) else given).all():
            raise DatasetError(
                f"attempt {attempt}: {feature.name} is not finite; use the maximum depth where nothing is in range"
            )
