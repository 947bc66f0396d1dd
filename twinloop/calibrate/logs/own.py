"""Read logs from a dataset of this project: runlogs, collected demonstrations, ingested data.

The shards are read, so the dataset need not be exported.
"""

from pathlib import Path

import numpy as np

from twinloop.calibrate.logs.log import Log
from twinloop.calibrate.people import ask_people
from twinloop.dataset import Dataset
from twinloop.dataset.layout import HEADER
from twinloop.errors import DatasetError

TIMING, ROBOT_CLOCK = "timing", "robot_s"


def is_own(path: Path) -> bool:
    return (path / HEADER).is_file()


def read_own_logs(path: Path) -> list[Log]:
    """All stored episodes, on the robot's clock where it was recorded."""
    dataset = Dataset.open(path)
    ask_people(path)
    header, digest = dataset.header, dataset.digest()
    names = {feature.name: feature.names for feature in header.features if feature.names}
    wanted = [feature.name for feature in header.features if not feature.is_picture]
    if not dataset.stored:
        raise DatasetError(f"{path}: has no episode with rows")
    logs = []
    for index in range(dataset.stored):
        frames = dataset.episode(index)
        columns = {name: np.asarray(frames[name], float).reshape(len(frames[name]), -1) for name in wanted}
        time_s = np.arange(len(frames["attempt"])) / float(header.fps)
        if TIMING in columns and ROBOT_CLOCK in names.get(TIMING, ()):
            time_s = columns[TIMING][:, names[TIMING].index(ROBOT_CLOCK)]
        logs.append(Log(f"episode_{index:06d}", time_s, columns, {"episode_index": float(index)}, names, digest))
    return logs
