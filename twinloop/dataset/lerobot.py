"""The LeRobot v3.0 export: a pure function of the committed shards.

Stored episodes become `episode_index` 0, 1, 2 ... in order of attempts. Columns that LeRobot does not define (draw,
verdict, provenance) are exported as `sim/...` in meta/episodes. Memory does not grow with the dataset: shards are
processed one at a time, and only a sample of fixed size is kept.
"""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.durable import FileDigest, write_file
from twinloop.observe.recording import Feature

from ._lerobot_data import CHUNK_FILES, COUNTERS, data_file_plan, write_data
from ._lerobot_episodes import task_numbers, write_episodes
from ._lerobot_videos import VIDEO_PATH, video_feature, write_videos
from .parquet import encode
from .reader import Dataset
from .stats import Moments

CODEBASE_VERSION = "v3.0"
DATA_FILE_MB = 100
WRITTEN_FILE_MB = 32  # well below LeRobot's limit, so that several files are written in parallel
VIDEO_FILE_MB = 200


def export(dataset: Dataset, out: Path) -> dict[str, FileDigest]:
    """Write `meta/`, `data/` and, for image features, `videos/` into the empty folder `out`.

    Returns:
        path relative to `out` -> digest, for every file.
    """
    plan = data_file_plan(dataset.entries, WRITTEN_FILE_MB * 10**6)
    tasks = task_numbers(dataset, plan)
    with ThreadPoolExecutor(max_workers=1) as beside:
        writing = beside.submit(write_episodes, dataset, out, plan, tasks)
        data = write_data(dataset, out, plan, tasks)
        videos = write_videos(dataset, out)
        episodes = writing.result()
    (out / "meta").mkdir(exist_ok=True)
    info = _info(dataset, len(tasks))
    stats = _stats(episodes.moments, data.sample)
    meta = {
        "meta/info.json": write_file(out / "meta/info.json", _json(info)),
        "meta/stats.json": write_file(out / "meta/stats.json", _json(stats)),
        "meta/tasks.parquet": write_file(out / "meta/tasks.parquet", _texts("task", tasks)),
    }
    if dataset.header.subtasks:
        numbers = {text: number for number, text in enumerate(dataset.header.subtasks)}
        meta["meta/subtasks.parquet"] = write_file(out / "meta/subtasks.parquet", _texts("subtask", numbers))
    return {**meta, **episodes.files, **data.files, **videos}


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _info(dataset: Dataset, total_tasks: int) -> dict:
    header = dataset.header
    return {
        "codebase_version": CODEBASE_VERSION,
        "robot_type": header.robot,
        "total_episodes": dataset.stored,
        "total_frames": dataset.frame_count,
        "total_tasks": total_tasks,
        "chunks_size": CHUNK_FILES,
        "data_files_size_in_mb": DATA_FILE_MB,
        "video_files_size_in_mb": VIDEO_FILE_MB,
        "fps": header.fps,
        "splits": {"train": f"0:{dataset.stored}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": VIDEO_PATH if header.pictures else None,
        "features": _features(dataset),
    }


def _features(dataset: Dataset) -> dict[str, dict]:
    features = (*dataset.header.features, *(Feature(name, dtype, (1,)) for name, dtype in COUNTERS.items()))
    return {feature.name: _feature(dataset, feature) for feature in features}


def _feature(dataset: Dataset, feature: Feature) -> dict:
    if feature.is_picture:
        return video_feature(dataset, feature)
    return {"dtype": feature.dtype, "shape": list(feature.shape), "names": list(feature.names) or None}


def _stats(moments: Mapping[str, Moments], sample: Mapping[str, np.ndarray]) -> dict[str, dict]:
    return {
        name: moment.finish(sample[name]) if name in sample else moment.finish_pictures()
        for name, moment in moments.items()
        if moment.count
    }


def _texts(what: str, numbers: Mapping[str, int]) -> pa.Buffer:
    """Return a Parquet file with the texts of tasks or sub-tasks as a pandas index, as LeRobot expects.

    LeRobot reads this file with pandas. Without the pandas metadata that names the index column, the file loads
    without an error and every task reads as 0.
    """
    index = f"{what}_index"
    table = pa.table({index: pa.array(numbers.values(), pa.int64()), what: pa.array(numbers, pa.string())})
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": dtype, "metadata": None}
        for name, kind, dtype in ((index, "int64", "int64"), (what, "unicode", "object"))
    ]
    labels = {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object"}
    note = {
        "index_columns": [what],
        "column_indexes": [{**labels, "metadata": {"encoding": "UTF-8"}}],
        "columns": columns,
        "creator": {"library": "pyarrow", "version": "1"},
        "pandas_version": "2.2.0",
    }
    return encode(table.replace_schema_metadata({"pandas": json.dumps(note)}), {"compression": "snappy"})
