"""Tasks fit an arm with a short reach: places, sizes of things, and ranges of presets."""

import numpy as np
import pytest

from twinloop.randomize.draw import nominal_values
from twinloop.randomize.table import BY_NAME
from twinloop.twin.area import FARTHEST_M, NEAREST_M, Area
from twinloop.twin.assemble import assemble
from twinloop.twin.robots import robots
from twinloop.twin.tasks import tasks

AREA = Area((0.3, 0.0), nearest_m=0.16, farthest_m=0.3)


@pytest.mark.parametrize(("radius", "expected"), [(NEAREST_M, 0.16), (FARTHEST_M, 0.3), (2.0, 0.3)])
def test_places_bend_around_the_arm_within_its_reach(radius: float, expected: float):
    (x, y), turn = AREA.place((radius, 0.0))
    assert (x - 0.3, y, turn) == pytest.approx((expected, 0.0, 0.0))
    (x, y), turn = AREA.place((NEAREST_M, 0.1))
    # What stands there faces the arm.
    assert np.arctan2(y, x - 0.3) == pytest.approx(turn)
    assert turn > 0


def test_a_handle_is_within_reach_and_its_fixture_behind_it():
    (x, _), _ = AREA.place((0.5, 0.0), front_m=0.3)
    assert x - 0.3 == pytest.approx(0.16 + 0.3)


def test_things_of_the_short_arm_are_near_and_narrow():
    robot = robots()["so101"]
    assert robot.area is not None
    assert robot.widest_grip_m is not None
    twin = assemble(robot, tasks()["stack"])
    start = twin.task.start(nominal_values(1), 1, twin.task.by_name)
    for index in twin.things:
        away = np.linalg.norm(start.poses[index.name][0, :2] - robot.area.centre_m)
        assert robot.area.nearest_m - 0.01 < away < robot.area.farthest_m + 0.01
    for name in ("red_cube", "green_cube"):  # the blue one is not gripped
        object_ = next(index.object for index in twin.things if index.name == name)
        assert 2 * object_.half_extents_m[1] <= robot.widest_grip_m + 1e-9


def test_friction_of_presets_follows_the_weakest_joint():
    row = BY_NAME["joint_friction_nm"]
    assert row.sensible_for(robots()["so101"])[1] < 0.2 < row.sensible_for(robots()["franka_panda"])[1]
    assert row.sensible_for(None) == row.sensible
