"""Read the stored episodes of a dataset as Trajectories, for curators."""

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from twinloop.curate.discriminator.images import thumbnails
from twinloop.curate.discriminator.trajectories import LABELS, Trajectories, TrajectorySchema
from twinloop.dataset.header import Header
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.reader import Dataset
from twinloop.observe.recording import Feature, Recording

NOT_MEASURED = ("phase", "subtask_index", "timing")
ABSENT = "clean."


def trajectory_schema(header: Header, *, images: bool = False) -> TrajectorySchema:
    """The schema of a dataset's trajectories: all measured and commanded numbers, and with `images` the cameras."""
    elements = {feature.name: _names(feature) for feature in header.columns if is_signal(feature)}
    cameras = tuple(feature.name for feature in header.pictures if feature.dtype == "video") if images else ()
    return TrajectorySchema(header.robot, float(header.fps), elements, cameras)


def is_signal(feature: Feature) -> bool:
    return (
        feature.dtype in ("float32", "float64")
        and feature.name not in NOT_MEASURED
        and not feature.name.startswith(("next.", "label.", ABSENT))
    )


def _names(feature: Feature) -> tuple[str, ...]:
    return feature.names or tuple(str(index) for index in range(feature.shape[0]))


def read_trajectories(dataset: Dataset, *, images: bool = False) -> Iterator[Trajectories]:
    """The stored episodes of each shard that has any. With `images` the videos are decoded too."""
    schema = trajectory_schema(dataset.header, images=images)
    present = {feature.name for feature in dataset.header.columns}
    labels = [name for name in LABELS if name in present]
    for entry in dataset.entries:
        if not entry.frames:
            continue
        table = dataset.frames(entry, [*schema.elements, *labels])
        attempts = dataset.episodes(entry)
        lengths = to_numpy(attempts["length"])
        stored = lengths > 0
        count = int(lengths.sum())
        yield Trajectories(
            schema=schema,
            attempts=to_numpy(attempts["attempt"])[stored],
            lengths=lengths[stored],
            signals={
                name: to_numpy(table[name]).reshape(count, -1).astype(np.float64) for name in schema.elements
            },
            success=_labels_of_success(attempts)[stored],
            tasks=tuple(np.array(_tasks(attempts), object)[stored]),
            labels={name: to_numpy(table[name]).reshape(count).astype(np.float64) for name in labels},
            images={camera: _thumbnails(dataset, camera, attempts, stored) for camera in schema.cameras},
        )  # fmt: skip


def trajectories_of(
    recording: Recording,
    header_of: tuple[str, float],
    success: np.ndarray,
    task: str,
    *,
    cameras: Collection[str] = (),
) -> Trajectories:
    """The trajectories of a recording that is not stored yet.

    Args:
        header_of: (robot, frames per second).
        cameras: features whose images are rendered and compared, if the recording has them.
    """
    filmed = tuple(feature.name for feature in recording.features if feature.name in cameras)
    elements = {feature.name: _names(feature) for feature in recording.features if is_signal(feature)}
    count = recording.total_frames
    kept = recording.lengths > 0
    return Trajectories(
        schema=TrajectorySchema(header_of[0], float(header_of[1]), elements, filmed),
        attempts=recording.attempts[kept],
        lengths=recording.lengths[kept],
        signals={name: recording.frames[name].reshape(count, -1).astype(np.float64) for name in elements},
        success=success[kept].astype(float),
        tasks=(task,) * int(kept.sum()),
        labels={
            name: recording.frames[name].reshape(count).astype(np.float64)
            for name in LABELS
            if name in recording.frames
        },
        images=_rendered_thumbnails(recording, filmed, np.flatnonzero(kept)) if filmed else {},
    )


def _rendered_thumbnails(recording: Recording, cameras: tuple[str, ...], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Camera -> thumbnails of all frames of these episodes. One episode is in memory at a time."""
    assert recording.pictures is not None
    parts: dict[str, list[np.ndarray]] = {camera: [] for camera in cameras}
    for images in recording.pictures(rows):
        for camera in cameras:
            parts[camera].append(thumbnails(np.asarray(images[camera])))
    return {camera: np.concatenate(small) for camera, small in parts.items()}


def _thumbnails(dataset: Dataset, camera: str, attempts: pa.Table, stored: np.ndarray) -> np.ndarray:
    numbers = to_numpy(attempts["attempt"])[stored]
    return np.concatenate([thumbnails(dataset.pictures(None, camera, attempt=int(number))) for number in numbers])


def _labels_of_success(attempts: pa.Table) -> np.ndarray:
    """(n,) 1, 0, or NaN for a real episode whose outcome is not known."""
    success = to_numpy(attempts["success"]).astype(float)
    if "outcome" in attempts.column_names:
        known = [outcome in ("success", "failure") for outcome in attempts["outcome"].to_pylist()]
        success[~np.array(known, bool)] = np.nan
    return success


def _tasks(attempts: pa.Table) -> list[str]:
    column = "task_name" if "task_name" in attempts.column_names else "task"
    return attempts[column].to_pylist()
