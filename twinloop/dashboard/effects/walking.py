"""Effects of rows on a quadruped that marches on the spot, with one row of the table at several values."""

import numpy as np

from twinloop.dashboard.effects.mobile_measures import (
    Channels,
    MobileMeasure,
    Three,
    clearest,
    length,
    tapes_of,
)
from twinloop.observe.walk_sensors import WalkSensors
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME
from twinloop.run.effect import draws_of_values
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import make_terrain
from twinloop.twin.legs.walk_twin import assemble_walk

SECONDS, LIFT_RAD, STEP_S = 4.0, 0.3, 0.5
PERIOD_S = 0.02
GIVEN = {"push_speed_m_s": {"push_interval_s": 1.5}, "push_interval_s": {"push_speed_m_s": 0.5}}
"""Row -> values of other rows that it needs to have an effect in a short time."""
SLOPE_DEG = 12.0
"""Tilt of gravity for rows of the ground, which has no effect on a robot that stands level."""

WALK_MEASURES: dict[str, MobileMeasure] = {
    "base_height": MobileMeasure("height of the trunk above the ground (mm)", 2.0, lambda c: 1000 * c["height"]),
    "ground_height": MobileMeasure("height of the ground below the trunk (mm)", 5.0, lambda c: 1000 * c["ground"]),
    "base_way": MobileMeasure("distance of the trunk from its start (mm)", 10.0,
                            lambda c: 1000 * length(c["place"] - c["place"][:1])),
    "base_speed": MobileMeasure("horizontal speed of the trunk (m/s)", 0.05, lambda c: length(c["velocity"][:, :2])),
    "base_tilt": MobileMeasure("tilt of the trunk (°)", 0.3,
                             lambda c: np.rad2deg(np.arcsin(np.clip(length(c["gravity"][:, :2]), 0, 1)))),
    "leg_speed_error": MobileMeasure("error of the joint velocities (rad/s)", 0.05,
                                   lambda c: length(c["seen_velocity"] - c["joint_velocity"])),
    "base_turn_error": MobileMeasure("error of the trunk's turn rate about x (mrad/s)", 1.0,
                                   lambda c: 1000 * (c["seen_gyro"] - c["turn"])[:, 0]),
    "base_tilt_error": MobileMeasure("error of the trunk's pitch (°)", 0.05,
                                   lambda c: np.rad2deg((c["seen_gravity"] - c["gravity"])[:, 0])),
}  # fmt: skip


def walk_curves(row: Parameter, values: tuple[float, float, float]) -> tuple[str, Three, float]:
    """(name of the measure that a row changes most, its curve for each value, how clear the difference is)."""
    return clearest(WALK_MEASURES, _marched(row, values))


def _marched(row: Parameter, values: tuple[float, float, float]) -> list[Channels]:
    """Channels of one episode for each value."""
    terrain = make_terrain("stepped" if row.lays_out else "flat")
    twin = assemble_walk(QUADRUPED, terrain, control_hz=round(1 / PERIOD_S))
    given = dict(GIVEN.get(row.name, {}))
    if row.needs:
        given.setdefault(row.needs, BY_NAME[row.needs].sensible[1])
    if row.gap == "contact":
        given["gravity_tilt_deg"] = SLOPE_DEG
    count = len(values)
    draws, ids = draws_of_values(row, values, given), np.arange(count)
    cell, sensors = WalkCell(twin, width=count), WalkSensors(twin, width=count, seed=0)
    cell.admit(ids, draws, ids, seed=0)
    sensors.begin(ids, draws, ids)
    frames: list[Channels] = []
    for tick in range(round(SECONDS / PERIOD_S)):
        wave = LIFT_RAD * np.sin(2 * np.pi * tick * PERIOD_S / STEP_S)
        target = np.tile(QUADRUPED.home_rad, (count, 1))
        # Diagonal legs are lifted in turn: thigh forward, calf back.
        target[:, [1, 2, 10, 11] if wave > 0 else [4, 5, 7, 8]] += abs(wave) * np.array([1, -2, 1, -2])
        cell.step(None, target)
        seen = sensors.look(cell)
        frames.append({
            "height": cell.height_m, "place": cell.base_position.copy(), "velocity": cell.velocity_m_s.copy(),
            "ground": twin.terrain.height_at(cell.base_position[:, :2]), "gravity": cell.gravity,
            "joint_velocity": cell.arm_velocity_rad_s, "turn": cell.turn_rad_s.copy(),
            "seen_velocity": seen["velocity"], "seen_gyro": seen["gyro"], "seen_gravity": seen["gravity"],
        })  # fmt: skip
    return tapes_of(frames, count)
