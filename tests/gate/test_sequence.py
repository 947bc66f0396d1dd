"""The path of the sequential test ends in the result of the test."""

from pathlib import Path

import pytest

from tests.gate.runlogs import Trial, in_turns, runlog
from tests.gate.world import GOOD, POOR, World, some
from twinloop.gate.case import case_of
from twinloop.gate.registry import Registry
from twinloop.gate.sequence import expected_trials, judge_real_trials, path_of_trials
from twinloop.gate.store import look_at


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.live(1)
    world.policy(2)
    world.promote(2)
    return world


@pytest.mark.parametrize("number", [1, 2])
def test_the_last_step_equals_the_result_of_the_test(world: World, number: int):
    """The first policy is tested alone, the second in turns with the live one."""
    turns = in_turns(world.digest(2), list(some(GOOD, 14)), world.digest(1), list(some(POOR, 14)))
    log = runlog(world.path / "runs" / "met", turns[:-1] if number == 2 else [Trial(world.digest(1))] * 9)
    policy = look_at(world.path / "policies" / f"p{number}")
    case = case_of(Registry.open(world.registry), policy, world.rules, runlogs=(log,))
    result, steps = judge_real_trials(case), path_of_trials(case)
    assert len(steps) == result.trials > 8
    assert steps[-1].log_evidence_for == pytest.approx(result.log_evidence_for)
    assert steps[-1].log_evidence_against == pytest.approx(result.log_evidence_against)


@pytest.mark.parametrize(("number", "assumed"), [(1, "80% of trials succeed"), (2, "the candidate succeeds in 90%")])
def test_the_expected_number_of_trials_is_below_the_limit_and_names_its_assumption(
    world: World, number: int, assumed: str
):
    policy = look_at(world.path / "policies" / f"p{number}")
    case = case_of(Registry.open(world.registry), policy, world.rules)
    text = expected_trials(case, most=60)
    assert text.startswith(f"at most 60; if {assumed}")
    median = int(text.partition("the median is ")[2].partition(",")[0])
    assert 5 <= median <= 60


def test_a_short_session_is_expected_to_end_undecided_more_often(world: World):
    case = case_of(Registry.open(world.registry), look_at(world.path / "policies" / "p2"), world.rules)
    assert "end undecided" in expected_trials(case, most=4)
