"""Sets the ranges of the rows that lay out a scene from the object and goal poses at the start of logged episodes."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.dataset import Dataset
from twinloop.diagnose.widening import wider
from twinloop.errors import UsageError
from twinloop.gate.repeat import layout, refuse_task, scene_of, start_of
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import nominal_values
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.randomization import ordered_rows
from twinloop.run.twin import twin_of

USUAL = 0.02, 0.98
"""Quantiles at the ends of a range, so that a single wrong pose of the tracker does not change them."""
MARGIN = 0.1
"""Margin for scenes that have not been logged yet, as a share of the width of a range."""
MIN_SCENES = 8


def as_laid_out(config: RunConfig, runlog: Path) -> RunConfig:
    """Return `config` with ranges widened to include the scenes of a runlog.

    The config is returned unchanged if the task lays out its scenes with other rows, or if there are fewer than
    `MIN_SCENES` scenes.
    """
    twin = twin_of(config)
    try:
        refuse_task(twin)
    except UsageError:
        return config
    dataset = Dataset.open(runlog)
    seen = [scene_of(dataset, attempt)[0] for attempt in dataset.attempts()["attempt"].to_pylist()]
    scenes = [scene for scene in seen if scene is not None]
    if len(scenes) < MIN_SCENES:
        return config
    began = twin.task.start(nominal_values(1), 1, twin.task.by_name)
    places = np.array([layout(start_of(scene))[0] for scene in scenes]) - layout(began)[0]
    heights = np.array([scene[9] for scene in scenes]) - began.poses[twin.task.goal][0, 2]
    offsets = {
        "object_position_noise_cm": 100 * places[:, :2],
        "object_yaw_deg": places[:, 2],
        "target_position_noise_cm": 100 * places[:, 3:],
        "table_height_cm": 100 * heights,
    }
    ranges = dict(config.randomization)
    for name, values in offsets.items():
        low, high = _ends(values)
        lowest, highest = BY_NAME[name].plausible
        ranges[name] = wider(ranges.get(name), Uniform(max(low, lowest), min(high, highest)))
    return replace(config, randomization=ordered_rows(ranges))


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Ends of the common range of all elements of a row. It includes 0, the nominal value of each of these rows."""
    columns = values.reshape(len(values), -1)
    low, high = (float(pick(np.quantile(columns, q, axis=0))) for pick, q in zip((np.min, np.max), USUAL, strict=True))
    room = MARGIN * (high - low) + 1e-3
    return min(low - room, 0.0), max(high + room, 0.0)
