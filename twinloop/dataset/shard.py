"""A shard: the attempts [first, stop) of a run, written by one worker into a scratch folder.

    frames.parquet     one row per frame of every stored episode
    episodes.parquet   one row per attempt, stored or not: its draw, verdict and statistics
    FEATURE.mp4        one video frame per row of frames.parquet, for every image feature

The bytes do not depend on the time, the machine or the worker.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import ACCEPTED
from twinloop.durable import FileDigest, storage_errors, sync_folder, write_file
from twinloop.errors import DatasetError
from twinloop.observe.recording import Recording

from .columns import STATS_PREFIX, Values, episode_arrays
from .manifest import ShardEntry
from .parquet import EPISODE_OPTIONS, FRAME_KEYS, encode, frame_field, frame_options, to_column
from .people.consent import require_consent
from .pictures import PictureFiles, write_pictures
from .stats import STATS, episode_stats

FRAMES = "frames.parquet"
EPISODES = "episodes.parquet"


@dataclass(frozen=True)
class ShardDraft:
    """A shard that is written but not committed.

    Attributes:
        folder: the scratch folder with the shard's files.
        first, stop: the shard holds the attempts [first, stop).
        accepted: attempts that passed all checks.
        stored: attempts with rows in frames.parquet.
        frames: rows of frames.parquet.
        files: file name -> digest.
    """

    folder: Path
    first: int
    stop: int
    accepted: int
    stored: int
    frames: int
    files: Mapping[str, FileDigest]

    def entry(self) -> ShardEntry:
        return ShardEntry(self.first, self.stop, self.accepted, self.stored, self.frames, self.files)


def write_shard(
    folder: Path,
    first: int,
    stop: int,
    recording: Recording,
    columns: Mapping[str, Values],
    *,
    fps: float,
    keep: np.ndarray | None = None,
    pictures: PictureFiles | None = None,
    entering: bool = True,
) -> ShardDraft:
    """Write the attempts [first, stop) into `folder`. The files are synced to disk on return.

    Args:
        folder: the scratch folder.
        first, stop: range of attempts.
        recording: the episodes to store as rows, in order of attempts.
        columns: one value per attempt, see `dataset/columns.py`. `length` is 0 for an attempt without rows.
        fps: frames per second.
        keep: (n,) mask of the recorded episodes to store. Default: all.
        pictures: videos that are already in `folder`. Default: encode the images of the recording.
        entering: check the consent of participants. False for rewriting episodes that the dataset already holds.
    """
    if keep is not None and not keep.all():
        recording = recording.take(keep)
    episodes = _episode_columns(first, stop, columns)
    _check_rows(first, stop, recording, episodes)
    if entering:
        require_consent(episodes, "record", where=f"attempts {first}-{stop}")
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if pictures is None:
            pictures = write_pictures(folder, recording, fps=fps)
        recording = replace(recording, frames={**recording.frames, **pictures.columns})
        measured = dict(_feature_stats(recording))
        frames = _frame_table(recording, fps)
        statistics = _statistics(first, stop, recording, {**measured, **pictures.stats})
        encoded = {
            FRAMES: encode(frames, frame_options(frames.schema, ordered=["attempt"])),
            EPISODES: encode(pa.table({**episodes, **statistics}), EPISODE_OPTIONS),
        }
    with storage_errors(folder, needed_bytes=sum(data.size for data in encoded.values())):
        files = {name: write_file(folder / name, data) for name, data in encoded.items()} | dict(pictures.files)
        sync_folder(folder)
    return ShardDraft(
        folder=folder,
        first=first,
        stop=stop,
        accepted=sum(verdict == ACCEPTED for verdict in episodes["verdict"].to_pylist()),
        stored=int(np.count_nonzero(recording.lengths)),
        frames=recording.total_frames,
        files=files,
    )


def _frame_table(recording: Recording, fps: float) -> pa.Table:
    frame_index = np.arange(recording.total_frames) - np.repeat(recording.starts, recording.lengths)
    keys = {
        "attempt": np.repeat(recording.attempts, recording.lengths),
        "frame_index": frame_index,
        "timestamp": (frame_index / fps).astype(np.float32),
    }
    fields = [*FRAME_KEYS, *(frame_field(feature) for feature in recording.features if not feature.is_picture)]
    values = {**keys, **recording.frames}
    return pa.table([to_column(values[field.name], field) for field in fields], schema=pa.schema(fields))


def _episode_columns(first: int, stop: int, columns: Mapping[str, Values]) -> dict[str, pa.Array]:
    arrays = episode_arrays(columns, where=f"shard {first}-{stop}")
    for name, values in arrays.items():
        if len(values) != stop - first:
            counts = f"{len(values)} values for {stop - first} attempts"
            raise DatasetError(f"shard {first}-{stop}: column {name!r} has {counts}")
    if not np.array_equal(arrays["attempt"].to_numpy(), np.arange(first, stop)):
        raise DatasetError(f"shard {first}-{stop}: column 'attempt' must count from {first} to {stop - 1}")
    return arrays


def _check_rows(first: int, stop: int, recording: Recording, episodes: Mapping[str, pa.Array]) -> None:
    lengths = np.zeros(stop - first, np.int64)
    attempts = recording.attempts
    if len(attempts) and (attempts[0] < first or attempts[-1] >= stop or (np.diff(attempts) <= 0).any()):
        raise DatasetError(f"shard {first}-{stop}: recorded attempts {attempts} are not in range and in order")
    lengths[attempts - first] = recording.lengths
    mismatched = np.flatnonzero(episodes["length"].to_numpy() != lengths)
    if len(mismatched):
        given, stored = episodes["length"][int(mismatched[0])], lengths[mismatched[0]]
        raise DatasetError(
            f"attempt {first + mismatched[0]}: length {given} was given, but {stored} frames are recorded"
        )
    filmed = recording.filmed  # these arrive during encoding and are checked there
    for feature in recording.features:
        if feature in filmed:
            continue
        shape = recording.frames[feature.name].shape
        valid = [(recording.total_frames, *feature.shape)]
        valid += [(recording.total_frames,)] if feature.shape == (1,) else []
        if shape not in valid:
            raise DatasetError(f"shard {first}-{stop}: {feature.name} has shape {shape}, not {valid[0]}")


def _statistics(first: int, stop: int, recording: Recording, measured: Mapping[str, np.ndarray]) -> dict[str, pa.Array]:
    """Return one column per feature with its STATS back to back. It is null for an attempt without rows."""
    attempts = recording.attempts[recording.lengths > 0]
    absent = np.ones(stop - first, bool)
    absent[attempts - first] = False
    out = {}
    for name, stats in measured.items():
        finite = np.isfinite(stats).all(axis=(1, 2))
        if not finite.all():
            bad = attempts[np.argmin(finite)]
            raise DatasetError(f"attempt {bad}: {name} is not finite; a diverged episode must have no rows")
        width = len(STATS) * stats.shape[2]
        starts = np.concatenate([[0], np.cumsum(np.where(absent, 0, width))]).astype(np.int32)
        # A null offset is a null list. The argument `mask` would import pyarrow.compute, which takes 0.1 s.
        offsets = pa.array(starts, mask=np.append(absent, False))
        out[STATS_PREFIX + name] = pa.ListArray.from_arrays(offsets, pa.array(stats.reshape(-1)))
    return out


def _feature_stats(recording: Recording) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each column's name and its statistics, (episodes, len(STATS), d).

    Columns are computed in one array, which takes a third of the time of one by one. Integers are computed as
    float64, because float32 would round large ones.
    """
    lengths = recording.lengths[recording.lengths > 0]
    columns = [feature for feature in recording.features if not feature.is_picture]
    for dtype in (np.float32, np.float64):
        features = [column for column in columns if (column.dtype in ("int64", "float64")) == (dtype is np.float64)]
        if not features:
            continue
        parts = [recording.frames[column.name].reshape(-1, column.shape[0]) for column in features]
        block = np.concatenate(parts, axis=1, dtype=dtype)
        stats = episode_stats(block, lengths) if len(lengths) else np.empty((0, len(STATS), block.shape[1]))
        stop = 0
        for feature in features:
            start, stop = stop, stop + feature.shape[0]
            yield feature.name, stats[:, :, start:stop]
