"""Effects of rows on a quadruped that marches on the spot, with one row of the table at several values."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.observe.walk_sensors import WalkSensors
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME
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

Channels = dict[str, np.ndarray]


@dataclass(frozen=True)
class WalkMeasure:
    """label: what it is, with its unit. least: the smallest difference that counts. of: channels of one robot."""

    label: str
    least: float
    of: Callable[[Channels], np.ndarray]


def _length(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(values).sum(axis=-1))


WALK_MEASURES: dict[str, WalkMeasure] = {
    "base_height": WalkMeasure("height of the trunk above the ground (mm)", 2.0, lambda c: 1000 * c["height"]),
    "ground_height": WalkMeasure("height of the ground below the trunk (mm)", 5.0, lambda c: 1000 * c["ground"]),
    "base_way": WalkMeasure("distance of the trunk from its start (mm)", 10.0,
                            lambda c: 1000 * _length(c["place"] - c["place"][:1])),
    "base_speed": WalkMeasure("horizontal speed of the trunk (m/s)", 0.05, lambda c: _length(c["velocity"][:, :2])),
    "base_tilt": WalkMeasure("tilt of the trunk (°)", 0.3,
                             lambda c: np.rad2deg(np.arcsin(np.clip(_length(c["gravity"][:, :2]), 0, 1)))),
    "leg_speed_error": WalkMeasure("error of the joint velocities (rad/s)", 0.05,
                                   lambda c: _length(c["seen_velocity"] - c["joint_velocity"])),
    "base_turn_error": WalkMeasure("error of the trunk's turn rate about x (mrad/s)", 1.0,
                                   lambda c: 1000 * (c["seen_gyro"] - c["turn"])[:, 0]),
    "base_tilt_error": WalkMeasure("error of the trunk's pitch (°)", 0.05,
                                   lambda c: np.rad2deg((c["seen_gravity"] - c["gravity"])[:, 0])),
}  # fmt: skip


def walk_curves(
    row: Parameter, values: tuple[float, float, float]
) -> tuple[str, tuple[np.ndarray, np.ndarray, np.ndarray], float]:
    """(name of the measure that a row changes most, its curve for each value, how clear the difference is)."""
    tapes = _marched(row, values)
    lines = {name: [measure.of(tape) for tape in tapes] for name, measure in WALK_MEASURES.items()}
    apart = {
        name: np.abs(curves[0] - curves[2]) / WALK_MEASURES[name].least for name, curves in lines.items()
    }  # fmt: skip
    name = max(apart, key=lambda measure: float(np.mean(apart[measure])))
    low, nominal, high = lines[name]
    return name, (low, nominal, high), float(apart[name].max())


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
    # All are attempt 0 and share its noise, so that only the row differs.
    columns = {column: np.repeat(array, count) for column, array in Sampler({}, seed=0).draw(0, 1).values.items()}
    columns |= {column: np.full(count, given[name]) for name in given for column in BY_NAME[name].columns}
    columns |= {column: np.array(values, float) for column in row.columns}
    varied = tuple(column for column in columns if column.partition(".")[0] in {row.name, *given})
    draws, ids = Draws(np.zeros(count, int), columns, varied), np.arange(count)
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
    return [{name: np.array([frame[name][k] for frame in frames]) for name in frames[0]} for k in range(count)]
