"""The way of the sequential test ends where the test is."""

from pathlib import Path

import pytest

from tests.gate.runlogs import Tried, in_turns, runlog
from tests.gate.world import GOOD, POOR, World, some
from twinloop.gate.case import case_of
from twinloop.gate.registry import Registry
from twinloop.gate.sequence import path_of_trials, standing_of_trials
from twinloop.gate.store import look_at


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.live(1)
    world.policy(2)
    world.promote(2)
    return world


@pytest.mark.parametrize("number", [1, 2])
def test_the_last_step_is_what_the_test_says(world: World, number: int):
    """Alone for what is live, in turns for the other."""
    turns = in_turns(world.digest(2), list(some(GOOD, 14)), world.digest(1), list(some(POOR, 14)))
    log = runlog(world.path / "runs" / "met", turns[:-1] if number == 2 else [Tried(world.digest(1))] * 9)
    policy = look_at(world.path / "policies" / f"p{number}")
    case = case_of(Registry.open(world.registry), policy, world.rules, runlogs=(log,))
    found, steps = standing_of_trials(case), path_of_trials(case)
    assert len(steps) == found.trials > 8
    assert steps[-1].log_evidence_for == pytest.approx(found.log_evidence_for)
    assert steps[-1].log_evidence_against == pytest.approx(found.log_evidence_against)
