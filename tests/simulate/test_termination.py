"""An episode of a policy ends when its success has lasted, when the object has fallen, or when time is up."""

import numpy as np
import pytest

from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.termination import SETTLED_S, TerminationRule
from twinloop.twin.twin import Twin


@pytest.fixture
def cell(twin: Twin) -> Cell:
    cell = Cell(twin, width=2)
    cell.admit(np.arange(2), Sampler({}, seed=0).draw(0, 2), np.arange(2))
    return cell


def put_at_goal(cell: Cell, slot: int) -> None:
    cell.position("object")[slot] = cell.position("goal")[slot]
    cell.position("object")[slot, 2] += cell.half_extents_m("object")[slot, 2]


def test_success_must_last(twin: Twin, cell: Cell):
    ending = TerminationRule(twin, width=2)
    put_at_goal(cell, 0)
    overs = [ending.look(cell)[0].copy() for _ in range(30)]
    first = int(np.argmax(np.array(overs)[:, 0]))
    assert first == round(SETTLED_S * twin.control_hz)
    assert not np.array(overs)[:, 1].any()


def test_success_that_is_undone_counts_from_the_beginning(twin: Twin, cell: Cell):
    ending = TerminationRule(twin, width=2)
    put_at_goal(cell, 0)
    for _ in range(8):
        ending.look(cell)
    cell.position("object")[0, 2] += 0.1
    ending.look(cell)
    put_at_goal(cell, 0)
    assert not any(ending.look(cell)[0][0] for _ in range(8))


def test_what_has_fallen_is_lost(twin: Twin, cell: Cell):
    ending = TerminationRule(twin, width=2)
    cell.position("object")[1, 2] = -0.3
    over, lost = ending.look(cell)
    assert over.tolist() == lost.tolist() == [False, True]


def test_time_is_up_for_who_has_not_succeeded_and_for_who_just_has(twin: Twin, cell: Cell):
    ending = TerminationRule(twin, width=2)
    for _ in range(twin.longest_ticks):
        assert not ending.look(cell)[0].any()
    put_at_goal(cell, 0)
    over, lost = ending.look(cell)
    assert over.all()
    assert lost.tolist() == [False, True]
    ending.begin(np.array([1]))
    assert ending.look(cell)[0].tolist() == [True, False]
