"""Read the stored episodes of a dataset as Trajectories, for curators."""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.discriminator.trajectories import LABELS, Trajectories, TrajectorySchema
from twinloop.dataset.header import Header
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.reader import Dataset
from twinloop.observe.recording import Feature

NOT_MEASURED = ("phase", "subtask_index", "timing")
ABSENT = "clean."


def trajectory_schema(header: Header) -> TrajectorySchema:
    """The schema of a dataset's trajectories: all measured and commanded numbers."""
    elements = {feature.name: _names(feature) for feature in header.columns if is_signal(feature)}
    return TrajectorySchema(header.robot, float(header.fps), elements)


def is_signal(feature: Feature) -> bool:
    return (
        feature.dtype in ("float32", "float64")
        and feature.name not in NOT_MEASURED
        and not feature.name.startswith(("next.", "label.", ABSENT))
    )


def _names(feature: Feature) -> tuple[str, ...]:
    return feature.names or tuple(str(index) for index in range(feature.shape[0]))


def read_trajectories(dataset: Dataset) -> Iterator[Trajectories]:
    """The stored episodes of each shard that has any."""
    schema = trajectory_schema(dataset.header)
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
            success=to_numpy(attempts["success"])[stored].astype(float),
            tasks=tuple(np.array(_tasks(attempts), object)[stored]),
            labels={name: to_numpy(table[name]).reshape(count).astype(np.float64) for name in labels},
        )  # fmt: skip


def _tasks(attempts) -> list[str]:
    column = "task_name" if "task_name" in attempts.column_names else "task"
    return attempts[column].to_pylist()
