"""Clutter: as many things as drawn, clear of object and goal, solid, and no trouble for a careful expert."""

import numpy as np
import pytest

from tests.conftest import SEED_RANGES, Simulate
from twinloop.randomize.distribution import Constant, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.start import clutter_places
from twinloop.simulate.cell import Cell
from twinloop.twin.assemble import assemble
from twinloop.twin.clutter import CLEARANCE_M, THINGS
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE, start
from twinloop.twin.twin import Twin


@pytest.fixture(scope="module")
def cluttered() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=Features(clutter=True))


def test_as_many_things_stand_about_as_were_drawn_and_keep_clear():
    ranges = {**SEED_RANGES, "clutter_count": Uniform(0.0, 4.0), "clutter_place_cm": Uniform(-30.0, 30.0)}
    draws = Sampler(ranges, seed=0).draw(0, 200)
    begin = start(draws.values, 200, PICK_AND_PLACE.by_name)
    where = clutter_places(draws.values, begin)
    np.testing.assert_array_equal((where[:, :, 2] > 0).sum(axis=1), np.round(draws.values["clutter_count"]))
    # Pushed away from the goal last, a thing keeps clear of it; from the object it is pushed first.
    apart = np.linalg.norm(where[:, :, :2] - begin.poses["goal"][:, None, :2], axis=2)
    assert apart.min() > CLEARANCE_M - 1e-9
    nearest = np.linalg.norm(where[:, :, :2] - begin.poses["object"][:, None, :2], axis=2).min()
    assert nearest > CLEARANCE_M - 1e-9


def test_the_cell_puts_them_there(cluttered: Twin):
    cell = Cell(cluttered, width=2)
    bodies = cell.batch.bind("xpos")
    draws = Sampler({"clutter_count": Constant(3.0)}, seed=0).draw(0, 2)
    cell.admit(np.arange(2), draws, np.arange(2))
    first = cluttered.model.body(f"clutter/{next(iter(THINGS))}").id
    assert (bodies[:, first : first + 3, 2] > 0).all()
    assert (bodies[:, first + 3, 2] < 0).all()


def test_an_expert_works_among_them(simulate: Simulate, cluttered: Twin):
    ranges = {**SEED_RANGES, "clutter_count": Constant(4.0), "clutter_place_cm": Uniform(-6.0, 6.0)}
    assert simulate(32, of=cluttered, ranges=ranges).success.mean() >= 0.9
