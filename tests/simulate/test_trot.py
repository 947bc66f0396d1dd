"""The scripted trot on ground that is not flat: it follows the heights below it."""

import numpy as np

from twinloop.randomize.draw import Sampler
from twinloop.simulate.trot import TrotExpert
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import START_M, TREAD_M, make_terrain
from twinloop.twin.legs.walk_twin import WalkTwin, assemble_walk

SWINGS = np.array([[0.775, 0.25, 0.25, 0.775]])
"""Phase of the feet: the first and the last one are in the middle of their swing."""
ALL = np.array([0])


def targets(twin: WalkTwin, offset_m: np.ndarray) -> np.ndarray:
    """(4, 3) joint targets of a robot that walks in the direction x, at a place beside the start of a patch."""
    cell = WalkCell(twin, width=1)
    cell.admit(ALL, Sampler({}, seed=0).draw(0, 1), ALL, seed=0)
    place = cell.start_xy_m[0] + offset_m
    height = twin.terrain.height_at(place) + QUADRUPED.home_height_m
    cell.start(ALL, np.array([[*place, height]]), np.zeros(1))
    cell._look()
    command = np.array([[0.5, 0.0, 0.0]])
    return TrotExpert(twin, width=1).targets(cell, command, SWINGS, np.array([True])).reshape(4, 3)


def test_level_ground_of_a_start_is_like_flat_ground():
    flat, stepped = (targets(assemble_walk(QUADRUPED, make_terrain(name)), np.zeros(2)) for name in ("flat", "stepped"))
    np.testing.assert_allclose(stepped, flat, atol=1e-9)


def test_a_foot_swings_higher_before_a_step():
    twin = assemble_walk(QUADRUPED, make_terrain("stepped"))
    before_steps = START_M + TREAD_M - 0.25  # the front feet are near the first edges
    knees = [targets(twin, np.array([offset, 0.0]))[0, 2] for offset in (0.0, before_steps)]
    assert knees[1] < knees[0] - 0.05  # a knee that bends more lifts its foot
