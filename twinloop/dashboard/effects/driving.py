"""Effects of rows on a robot on wheels that drives in a curve, with one row of the table at several values."""

import numpy as np

from twinloop.dashboard.effects.mobile_measures import (
    Channels,
    MobileMeasure,
    Three,
    clearest,
    length,
    tapes_of,
)
from twinloop.observe.wheel_sensors import WheelSensors
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME
from twinloop.run.effect import draws_of_values
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.diff_drive import DIFF_DRIVE
from twinloop.twin.wheels.floor_plan import PERSON_RADIUS_M, cast_rays, clearance_m
from twinloop.twin.wheels.wheel_twin import assemble_wheels

SECONDS, DRIVE_PERIOD_S = 12.0, 0.1
COMMAND = np.array([0.2, 0.35])
"""Speed in m/s and turn rate in rad/s."""
SMALL_ROOM = {"people_count": 4.0, "room_size_m": 4.0, "furniture_count": 0.0}
GIVEN = {"person_yield_m": SMALL_ROOM, "person_speed_m_s": SMALL_ROOM, "people_count": {"room_size_m": 5.0},
         "passage_m": {"furniture_count": 8.0}}  # fmt: skip
"""Row -> values of other rows that show its effect in a short time."""

DRIVE_MEASURES: dict[str, MobileMeasure] = {
    "base_turned": MobileMeasure("direction of the base (°)", 1.0, lambda c: np.rad2deg(np.unwrap(c["yaw"]))),
    "base_driven": MobileMeasure("distance of the base from its start (mm)", 5.0,
                                 lambda c: 1000 * length(c["place"] - c["place"][:1])),
    "odometry_error": MobileMeasure("error of the odometry's place (mm)", 5.0, lambda c: 1000 * length(c["error"])),
    "heading_error": MobileMeasure("error of the odometry's heading (°)", 0.3,
                                   lambda c: np.rad2deg(c["heading_error"])),
    "echo_error": MobileMeasure("mean error of the lidar (mm)", 2.0, lambda c: 1000 * c["echo_error"].mean(axis=1)),
    "echo_spread": MobileMeasure("mean size of the lidar's errors (mm)", 2.0,
                                 lambda c: 1000 * np.abs(c["echo_error"]).mean(axis=1)),
    "free_distance": MobileMeasure("mean distance that the lidar sees (m)", 0.03, lambda c: c["echo"].mean(axis=1)),
    "obstacle_gap": MobileMeasure("gap to the nearest wall or furniture (mm)", 10.0, lambda c: 1000 * c["gap"]),
    "person_gap": MobileMeasure("gap to the nearest person, 3 m at most (m)", 0.05, lambda c: c["person_gap"]),
}  # fmt: skip
ROOM_MEASURES = ("free_distance", "obstacle_gap")
"""Measures for rows that change the layout of a room."""


def drive_curves(row: Parameter, values: tuple[float, float, float]) -> tuple[str, Three, float]:
    """(name of the measure that a row changes most, its curve for each value, how clear the difference is)."""
    given = dict(GIVEN.get(row.name, {}))
    if row.needs:
        given.setdefault(row.needs, BY_NAME[row.needs].sensible[1])
    people = row.gap == "human"
    measures = ("person_gap",) if people else ROOM_MEASURES if row.lays_out else tuple(DRIVE_MEASURES)
    return clearest({name: DRIVE_MEASURES[name] for name in measures}, _driven(row, values, given))


def _driven(row: Parameter, values: tuple[float, float, float], given: dict[str, float]) -> list[Channels]:
    """Channels of one episode for each value."""
    twin, count = assemble_wheels(DIFF_DRIVE, control_hz=round(1 / DRIVE_PERIOD_S)), len(values)
    draws, ids = draws_of_values(row, values, given), np.arange(count)
    cell, sensors = WheelCell(twin, width=count), WheelSensors(twin, width=count, seed=0)
    cell.admit(ids, draws, ids, seed=0)
    sensors.begin(ids, draws, ids, cell)
    frames: list[Channels] = []
    for _ in range(round(SECONDS / DRIVE_PERIOD_S)):
        cell.step(None, cell.wheel_speeds_rad_s(np.tile(COMMAND, (count, 1)), None))
        seen, people = sensors.look(cell), cell.people.position_m
        angles = cell.yaw_rad[:, None] + twin.ray_angles_rad
        true = cast_rays(cell.position_m, angles, cell.boxes, people, PERSON_RADIUS_M, twin.range_m)
        x, y, heading = seen["odometry"].T
        cos, sin = np.cos(sensors.start[:, 2]), np.sin(sensors.start[:, 2])
        moved = cell.position_m - sensors.start[:, :2]
        off = heading + sensors.start[:, 2] - cell.yaw_rad
        apart = np.linalg.norm(people - cell.position_m[:, None], axis=2).min(axis=1)
        frames.append({
            "yaw": cell.yaw_rad.copy(), "place": cell.position_m.copy(), "echo": seen["lidar"],
            "echo_error": seen["lidar"] - true, "heading_error": np.arctan2(np.sin(off), np.cos(off)),
            "error": np.column_stack([cos * x - sin * y, sin * x + cos * y]) - moved,
            "gap": clearance_m(cell.position_m, cell.boxes) - twin.robot.radius_m,
            "person_gap": np.minimum(apart - PERSON_RADIUS_M - twin.robot.radius_m, 3.0),
        })  # fmt: skip
    return tapes_of(frames, count)
