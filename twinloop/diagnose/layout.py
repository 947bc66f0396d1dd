"""Sets the ranges of the rows that lay out a scene from the poses of things, zones and fixtures at the start of logged
episodes."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.dataset import Dataset
from twinloop.diagnose.widening import wider
from twinloop.errors import TwinloopError
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.draw import nominal_values
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.run.config import RunConfig, inapplicable_rows
from twinloop.run.randomization import ordered_rows
from twinloop.run.twin import twin_of
from twinloop.twin.scene import Start
from twinloop.twin.twin import Twin

SCENE = "observation.environment_state"
MOVING = tuple(row.name for row in TABLE if row.lays_out and row.unit == "cm" and row.elements == ("x", "y"))
TURNING = tuple(row.name for row in TABLE if row.lays_out and row.unit == "°")
HEIGHT = "table_height_cm"
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
    usual = twin.task.start(nominal_values(1), 1, twin.task.by_name)
    moved_by, turned_by = _moved_by(config, twin, usual), _turned_by(config, twin, usual)
    poses = _first_poses(runlog, tuple(usual.poses))
    if moved_by is None or poses is None:
        return config
    offsets: dict[str, list[np.ndarray]] = defaultdict(list)
    for entity, row in moved_by.items():
        before, after = usual.poses[entity], poses[entity]
        offsets[row].append(100 * (after[:, :2] - before[:, :2]))
        if entity in turned_by:
            offsets[turned_by[entity]].append((_yaw_deg(after) - _yaw_deg(before) + 180)[:, None] % 360 - 180)
        if not BY_NAME[row].of_thing:  # the height of a thing also depends on its size
            offsets[HEIGHT].append(100 * (after[:, 2:3] - before[:, 2:3]))
    ranges, inapplicable = dict(config.randomization), inapplicable_rows(config.scene.world)
    for name, values in offsets.items():
        if name in inapplicable:
            continue
        low, high = _ends(np.concatenate(values, axis=1))
        lowest, highest = BY_NAME[name].plausible
        ranges[name] = wider(ranges.get(name), Uniform(max(low, lowest), min(high, highest)))
    return replace(config, randomization=ordered_rows(ranges))


def _moved_by(config: RunConfig, twin: Twin, usual: Start) -> Mapping[str, str] | None:
    """Entity -> the row that moves it. None if an entity is not moved by the centimetres that such a row says."""
    moved_by: dict[str, str] = {}
    for row in MOVING:
        moved = _start_with(row, config, twin)
        for entity, before in usual.poses.items():
            shift_m = moved.poses[entity][0, :2] - before[0, :2]
            if np.allclose(shift_m, 0.01, atol=1e-6):
                moved_by[entity] = row
            elif np.abs(shift_m).max() > 1e-6:
                return None
    return moved_by if set(moved_by) == set(usual.poses) else None


def _turned_by(config: RunConfig, twin: Twin, usual: Start) -> Mapping[str, str]:
    """Entity -> the row that turns it, for the entities that are turned by the degrees that such a row says."""
    turned_by: dict[str, str] = {}
    for row in TURNING:
        turned = _start_with(row, config, twin)
        for entity, before in usual.poses.items():
            if np.allclose(_yaw_deg(turned.poses[entity]) - _yaw_deg(before), 1.0, atol=1e-6):
                turned_by[entity] = row
    return turned_by


def _start_with(row: str, config: RunConfig, twin: Twin) -> Start:
    """The start of an episode in which this row is 1 and all others are nominal."""
    draws = config.sampler({row: Constant(1.0)}).draw(0, 1)
    return twin.task.start(draws.values, 1, twin.task.by_name)


def _first_poses(runlog: Path, entities: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    """Entity -> (n, 7) poses in the first frames; None if the log has fewer than `MIN_SCENES` scenes with them."""
    dataset = Dataset.open(runlog)
    named = {feature.name: feature.names for feature in dataset.header.features}.get(SCENE, ())
    if any(f"{entity}.x" not in named for entity in entities):
        return None
    scenes = [_first_frame(dataset, attempt) for attempt in dataset.attempts()["attempt"].to_pylist()]
    frames = [scene for scene in scenes if scene is not None and np.isfinite(scene).all()]
    if len(frames) < MIN_SCENES:
        return None
    together, starts = np.array(frames), {entity: named.index(f"{entity}.x") for entity in entities}
    return {entity: together[:, start : start + 7] for entity, start in starts.items()}


def _first_frame(dataset: Dataset, attempt: int) -> np.ndarray | None:
    try:
        return np.asarray(dataset.episode(attempt=attempt)[SCENE][0], float).ravel()
    except TwinloopError:  # an episode without frames
        return None


def _yaw_deg(poses: np.ndarray) -> np.ndarray:
    w, x, y, z = poses[:, 3:].T
    return np.rad2deg(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Ends of the common range of all elements of a row. It includes 0, the nominal value of each of these rows."""
    low, high = (float(pick(np.quantile(values, q, axis=0))) for pick, q in zip((np.min, np.max), USUAL, strict=True))
    room = MARGIN * (high - low) + 1e-3
    return min(low - room, 0.0), max(high + room, 0.0)
