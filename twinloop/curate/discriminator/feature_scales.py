"""Scales of features: the smallest usual size of each, and the distribution over good episodes.

Objects and scenes that the training data lacks differ from it. The floors say how much of a difference does not matter.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.episode_statistics import DISTANCE, EFFORT_MATCH, THING_MATCH
from twinloop.curate.discriminator.trajectories import is_hand

FLOORS = {
    "object_acceleration": 10.0, "object_speed": 0.5, "energy_gain": 0.005, "moves_untouched": 0.3,
    "drifts_untouched": 0.02, "free_fall": 1.0, "support_change": 1.0, "quaternion_norm": 1e-3, "turns_alone": 1.0,
    "below_start": 0.002, "rest_height": 0.002, "slips_in_grip": 0.02, "shifts_in_grip": 0.005,
    "grip_drift": 0.01, "touch_at_distance": 0.02, "tool_speed": 0.02, "fixture_acceleration": 0.5,
    "moves_alone": 0.02, "travels_untouched": 0.006, "rest_level": 0.002, "blocked_motion": 0.002,
    "touch_place": 0.03, "contact_distance": 0.003,
    "support_contradicts": 0.05, "stands_in_hand": 0.004, "jumps_from_rest": 0.008,
    "blocked_without_contact": 0.2, "squeeze_without_effort": 0.2, "repeats:contact": 2.0,
}  # fmt: skip
"""Smallest usual size of a residual, in SI units. Objects of other shapes differ by as much."""
REPEATS_FLOOR, RANGE_FLOOR = 10.0, 2.0
IMAGE_STILL_FLOOR = 0.02
TAIL = 2.33  # standard deviations from median to 99th percentile
MIN_TAIL, EFFORT_MIN_TAIL = 0.6, 1.0
EFFORT_BIAS = ("observation.effort|offset", "observation.effort|level")
"""Contacts of the arm or of a held object with the scene, which no sensor reports, change the effort for a while."""
HAND_TOLERANCE, HAND_KINEMATICS_TOLERANCE, FREE_HAND_TOLERANCE = 10.0, 3.0, 1.0
KINEMATICS = ("velocity_mismatch", "lag:observation.state>", "match:observation.state>")
"""Tables that compare the measured position with the measured velocity, which an object changes little."""
TABLE_FLOORS = {THING_MATCH: 0.1, EFFORT_MATCH: 0.1, "lag:": 0.15, "match:": 0.02, "motion:": 0.5, "length": 0.5}
"""Smallest tail of an episode's statistic, by the beginning of its name."""
END_FLOOR, END_DISTANCE_FLOOR = 0.01, 0.04
"""Objects of other shapes end in other places: distances to other entities differ more than heights and contacts."""


@dataclass(frozen=True)
class ColumnScale:
    """Median and tail of each column of a table over good episodes."""

    median: np.ndarray
    tail: np.ndarray

    def apply(self, values: np.ndarray, *, two_sided: bool) -> np.ndarray:
        apart = values - self.median
        apart = np.abs(apart) if two_sided else apart
        return np.nan_to_num(apart / self.tail, nan=0.0, posinf=1e3, neginf=0.0)


def floor_of(aspect: str) -> float:
    if aspect in FLOORS:
        return FLOORS[aspect]
    if aspect.startswith("repeats:"):
        return REPEATS_FLOOR
    if aspect.startswith("range:"):
        return RANGE_FLOOR
    if aspect.startswith("image_still:"):
        return IMAGE_STILL_FLOOR
    return 0.0


def tail_floor(table: str) -> float:
    for prefix, floor in TABLE_FLOORS.items():
        if table.startswith(prefix):
            return floor
    return EFFORT_MIN_TAIL if table.endswith(EFFORT_BIAS) else MIN_TAIL


def end_floors(names: tuple[str, ...]) -> np.ndarray:
    """(columns,) smallest tail of each column of `end_table`."""
    return np.array([END_DISTANCE_FLOOR if name.startswith(DISTANCE) else END_FLOOR for name in names])


def hand_tolerance(table: str, channels: tuple[str, ...]) -> np.ndarray:
    """(columns,) factor on the smallest tail: fingers close on objects of other sizes in other ways."""
    factor = HAND_KINEMATICS_TOLERANCE if table.startswith(KINEMATICS) else HAND_TOLERANCE
    factor = FREE_HAND_TOLERANCE if table.startswith(("free_step:", "free_static:")) else factor
    return np.array([factor if is_hand(channel.rpartition("/")[2]) else 1.0 for channel in channels])


def column_scale(
    values: np.ndarray, floor: float | np.ndarray, *, two_sided: bool, robust: bool = False
) -> ColumnScale:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a joint that never moves has no delay: all NaN
        median = np.nan_to_num(np.nanmedian(values, axis=0))
        apart = np.nan_to_num(np.abs(values - median) if two_sided else values - median)
        middle = TAIL / 0.52 * np.quantile(np.abs(apart), 0.4, axis=0)  # 0.52: 40 % of a normal distribution
        tail = middle if robust else np.quantile(apart, 0.99, axis=0)
    return ColumnScale(median, np.maximum(tail, floor) / TAIL)
