"""Robots on wheels in the engine: rolling, rooms, people, and the effect of every row of the table."""

import numpy as np
import pytest

from twinloop.observe.wheel_sensors import WheelSensors
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.simulate.drive import Drive
from twinloop.simulate.people_walk import PeopleWalk
from twinloop.simulate.room_draw import FixedPlan, draw_room
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.diff_drive import DIFF_DRIVE
from twinloop.twin.wheels.floor_plan import MOST_PEOPLE, FloorPlan, clearance_m
from twinloop.twin.wheels.wheel_twin import WheelTwin, assemble_wheels

ROWS = [row for row in TABLE if "wheels" in row.robots]
IN_THE_MIDDLE = FixedPlan(start=(-1.0, 0.0, 0.0), goal_m=(2.0, 0.0))


@pytest.fixture(scope="module")
def twin() -> WheelTwin:
    return assemble_wheels(DIFF_DRIVE, rays=16, longest_delay_s=0.2)


def drawn(count: int = 1, **values: float) -> Draws:
    return Sampler({name: Constant(value) for name, value in values.items()}, seed=0).draw(0, count)


def drive(
    twin: WheelTwin, draws: Draws, command: tuple[float, float] = (0.4, 0.5), *, seconds: float = 2.0,
    fixed: FixedPlan = FixedPlan(),  # noqa: B008
) -> dict[str, np.ndarray]:  # fmt: skip
    """The episodes of `draws` with one command: name -> (ticks, n, ...)."""
    n = len(draws.attempts)
    cell, ids = WheelCell(twin, width=n, fixed=fixed), np.arange(n)
    sensors, wheels = WheelSensors(twin, width=n, seed=0), Drive(cell, seed=0)  # pyright: ignore
    cell.admit(ids, draws, ids, seed=0)
    wheels.begin(ids, draws, ids)
    sensors.begin(ids, draws, ids, cell)
    tape: dict[str, list[np.ndarray]] = {}
    for tick in range(round(seconds * twin.control_hz)):
        speeds = cell.wheel_speeds_rad_s(np.tile(command, (n, 1)) * (1 if tick % 8 < 5 else -1), None)
        cell.step(None, wheels.carry(speeds))
        seen = sensors.look(cell)
        frame = {
            "place": cell.position_m.copy(), "yaw": cell.yaw_rad.copy(), "people": cell.people.position_m.copy(),
            "boxes": cell.boxes.copy(), "touch": cell.touch_n.copy(), **seen,
        }  # fmt: skip
        for name, values in frame.items():
            tape.setdefault(name, []).append(values.copy())
    return {name: np.array(values) for name, values in tape.items()}


def roll(twin: WheelTwin, wheels_rad_s: tuple[float, float], seconds: float, **rows: float) -> WheelCell:
    """Turn the wheels of one robot in an empty room. They get faster gradually, or they would slip."""
    cell, ids = WheelCell(twin, width=1, fixed=IN_THE_MIDDLE), np.array([0])
    cell.admit(ids, drawn(1, furniture_count=0.0, **rows), ids, seed=0)
    for tick in range(round(seconds * twin.control_hz)):
        cell.step(None, min(1, 0.1 * (tick + 1)) * np.array([wheels_rad_s]))
    return cell


def test_wheels_roll_by_their_radius_and_turn_the_base_by_their_track(twin: WheelTwin):
    cell = roll(twin, (8.0, 8.0), 4.0)
    turns = cell.arm_position_rad[0].mean()
    assert cell.position_m[0, 0] + 1.0 == pytest.approx(turns * DIFF_DRIVE.wheel_radius_m, rel=0.01)
    assert abs(cell.position_m[0, 1]) < 0.005
    cell = roll(twin, (-4.0, 4.0), 2.0)
    left, right = cell.arm_position_rad[0]
    turned = (right - left) * DIFF_DRIVE.wheel_radius_m / DIFF_DRIVE.track_m
    assert cell.yaw_rad[0] == pytest.approx(turned, rel=0.02)


def test_radius_and_track_of_an_episode_are_those_that_it_draws(twin: WheelTwin):
    plain, large = roll(twin, (8.0, 8.0), 3.0), roll(twin, (8.0, 8.0), 3.0, wheel_radius_scale=1.05)
    assert (large.position_m[0, 0] + 1) / (plain.position_m[0, 0] + 1) == pytest.approx(1.05, rel=0.01)
    plain, wide = roll(twin, (-3.0, 3.0), 2.0), roll(twin, (-3.0, 3.0), 2.0, track_scale=1.1)
    assert plain.yaw_rad[0] / wide.yaw_rad[0] == pytest.approx(1.1, rel=0.02)


def test_a_robot_touches_an_obstacle_where_the_floor_plan_has_it(twin: WheelTwin):
    fixed = FixedPlan(furniture=((1.0, 0.0, 0.6, 1.0, 0.3),), start=(-1.0, 0.0, 0.0), goal_m=(2.5, 0.0))
    cell, ids = WheelCell(twin, width=1, fixed=fixed), np.array([0])
    cell.admit(ids, drawn(), ids, seed=0)
    gap = np.inf
    for _ in range(80):
        gap = float(clearance_m(cell.position_m[0], cell.boxes[0])) - DIFF_DRIVE.radius_m
        if cell.touch_n[0] > 0:
            break
        assert gap > -0.002
        cell.step(None, np.array([[10.0, 10.0]]))
    assert cell.touch_n[0] > 0
    assert abs(gap) < 0.01


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_of_robots_on_wheels_changes_what_they_do_or_sense(twin: WheelTwin, row: Parameter):
    needs = {row.needs: BY_NAME[row.needs].sensible[1]} if row.needs else {}
    # Weak motors and slippery floors matter where wheels push hard, and passages where there is furniture.
    needs |= {"furniture_count": 8.0} if row.name == "passage_m" else {}
    needs |= {"payload_kg": 3.0} if row.name in ("motor_strength_scale", "payload_shift_cm") else {}
    needs |= {"room_size_m": 4.0, "people_count": 4.0} if row.name == "person_yield_m" else {}
    ends = {
        "motor_strength_scale": (0.05, 1.0), "ground_friction_coefficient": (0.02, 1.0), "person_yield_m": (0.0, 3.0),
        "observation_loss_share": (0.0, 0.5),
    }.get(row.name, row.sensible)  # fmt: skip
    low, high = (drive(twin, drawn(1, **(needs | {row.name: end}))) for end in ends)
    assert any(not np.array_equal(low[name], high[name]) for name in low)


def test_an_episode_does_not_depend_on_slot_or_width(twin: WheelTwin):
    rows = {row.name: Uniform(*row.sensible) for row in ROWS}
    sampler = Sampler(rows, seed=5)
    together, alone = drive(twin, sampler.draw(0, 6)), drive(twin, sampler.draw(4, 5))
    for name, values in together.items():
        np.testing.assert_array_equal(values[:, 4], alone[name][:, 0], err_msg=name)


def test_furniture_keeps_the_passage_and_ends_are_free():
    draws = Sampler(
        {"furniture_count": Constant(8.0), "passage_m": Uniform(0.7, 1.2), "people_count": Constant(3.0)}, seed=1
    ).draw(0, 12)  # fmt: skip
    for row in range(12):
        plan, routes = draw_room(draws, row, seed=1, radius_m=DIFF_DRIVE.radius_m)
        assert plan.free
        ends = np.array([plan.start[:2], plan.goal_m])
        assert clearance_m(ends, plan.boxes).min() > DIFF_DRIVE.radius_m + 0.14
        # The way to the goal is at least as long as the straight line, except for the size of cells.
        assert routes.cost_m[tuple(routes.cells(plan.start[:2]))] > np.linalg.norm(np.diff(ends, axis=0)) - 0.15


def test_a_wall_of_furniture_leaves_no_path():
    wall = FixedPlan(furniture=((0.0, 0.0, 0.3, 6.0, 0.0),), start=(-2.0, 0.0, 0.0), goal_m=(2.0, 0.0))
    plan, _ = draw_room(drawn(), 0, seed=0, radius_m=DIFF_DRIVE.radius_m, fixed=wall)
    assert not plan.free


def person_before(gap_m: float, yield_m: float) -> PeopleWalk:
    """A person who walks towards a robot in the origin, after one control period."""
    people = PeopleWalk(width=1, radius_m=0.2, period_s=0.1)
    ways = np.full((MOST_PEOPLE, 2, 2), 1000.0)
    ways[:, 1, 0] += 2
    ways[0] = [[gap_m + 0.45, 0.0], [-3.0, 0.0]]
    plan = FloorPlan(np.ones(2), np.zeros((1, 5)), np.zeros(3), np.zeros(2), ways, np.zeros(MOST_PEOPLE))
    people.begin(0, plan, speed_m_s=1.0, yield_m=yield_m)
    people.step(None, np.zeros((1, 2)))
    return people


def test_a_person_stops_before_a_robot_and_an_inattentive_one_does_not():
    assert person_before(0.4, 0.5).position_m[0, 0, 0] == pytest.approx(0.85)
    assert person_before(0.4, 0.0).position_m[0, 0, 0] == pytest.approx(0.75)
    assert person_before(0.8, 0.5).velocity_m_s[0, 0, 0] == pytest.approx(-1.0)
