"""The tool of a short arm goes around its first joint, and not over it."""

import numpy as np

from twinloop.simulate.base_detour import SHARE, around_base
from twinloop.twin.area import Area

AREA = Area((0.3, 0.0), nearest_m=0.13, farthest_m=0.26)


def test_a_way_over_the_base_leads_around_it():
    # From one side of the base to the other, straight over it.
    moved, target = np.array([[0.31, -0.2, 0.2]]), np.array([[0.31, 0.2, 0.2]])
    nearest = np.inf
    for _ in range(400):
        error = target - moved
        velocity = 0.4 * error / np.maximum(np.linalg.norm(error), 1e-9)
        moved = moved + 0.005 * around_base(velocity, moved, error, AREA)
        nearest = min(nearest, float(np.hypot(*(moved[0, :2] - AREA.centre_m))))
        if np.linalg.norm(target - moved) < 0.01:
            break
    assert np.linalg.norm(target - moved) < 0.01
    assert nearest > 0.95 * SHARE * AREA.nearest_m


def test_other_ways_stay_as_they_are():
    moved = np.array([[0.5, -0.1, 0.1], [0.38, 0.0, 0.1], [0.38, 0.0, 0.1]])
    # Far from the base; to a target beside the base; away from the base.
    target = np.array([[0.5, 0.1, 0.1], [0.35, 0.0, 0.0], [0.5, 0.0, 0.1]])
    velocity = target - moved
    np.testing.assert_array_equal(around_base(velocity, moved, target - moved, AREA), velocity)
