"""The gate fails closed: one row for each kind of missing, insufficient, altered or bad evidence of a robot."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.gate.runlogs import BEGAN, Trial, in_turns, runlog
from tests.gate.world import FAIR, GOOD, POOR, World, refused, some
from twinloop.gate.promote import Promotion
from twinloop.gate.registry import Registry


def alone(world: World, episodes: list[Trial], **changes) -> Promotion:
    return world.promote(1, to="production", runlogs=(runlog(world.path / "runs" / "log", episodes, **changes),))


def fine(world: World, count: int = 16, **columns) -> list[Trial]:
    return [Trial(world.digest(1), columns=columns) for _ in range(count)]


NONE_TRIED = (
    "trials", "sequential test", "success", "interventions", "safety", "filter", "finite commands", "aborted",
    "unknown", "deadlines",
)  # fmt: skip

ROBOT: dict[str, tuple[tuple[str, ...], Callable[[World], list[Trial]]]] = {
    "episodes of another policy only": (NONE_TRIED, lambda _: [Trial("e" * 64)] * 16),
    "too few trials": (("trials", "sequential test"), lambda world: fine(world, 4)),
    "a test that does not know yet": (
        ("sequential test",), lambda world: [Trial(world.digest(1), bool(ok)) for ok in some(0.66, 12)]
    ),
    "too little success": (
        ("sequential test", "success"), lambda world: [Trial(world.digest(1), bool(ok)) for ok in some(0.2, 20)]
    ),
    "interventions": (("interventions",), lambda world: fine(world, 24) + fine(world, 4, interventions=2)),
    "a robot at the end of its workspace": (("safety",), lambda world: fine(world, 12, **{"safety/workspace": 2})),
    "a filter at work all the time": (("filter",), lambda world: fine(world, 12, **{"safety/velocity": 18})),
    "one command that was no number": (
        ("finite commands",), lambda world: fine(world, 20) + fine(world, 1, **{"safety/non_finite": 1})
    ),
    "aborted episodes": (("aborted",), lambda world: fine(world, 24) + fine(world, 4, outcome="aborted")),
    "outcomes nobody knows": (("unknown",), lambda world: fine(world, 24) + fine(world, 4, outcome="unknown")),
    "missed deadlines": (("deadlines",), lambda world: fine(world, 12, deadlines_missed=1)),
    "no column of interventions": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, interventions=None)),
    "no column of the outcome": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, outcome=None)),
    "an outcome of another word": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, outcome="splendid")),
    "a time that is none": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, recorded_at="yesterday")),
    "a count that is missing": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, deadlines_missed=None)),
    "a count below nothing": (("evidence", *NONE_TRIED), lambda world: fine(world, 12, **{"safety/force": -1})),
}  # fmt: skip


@pytest.mark.parametrize("name", ROBOT)
def test_a_failed_rule_prevents_production(world: World, name: str):
    rules, episodes = ROBOT[name]
    refused(alone(world, episodes(world)), *rules)
    assert Registry.open(world.registry).production == ""


def test_trials_faster_than_a_canary_may_be_do_not_count(world: World):
    refused(alone(world, fine(world, 16, **{"setting/speed": 0.9})), "speed")


def test_slowing_a_slow_robot_down_is_not_held_against_it(world: World):
    slow = {"setting/speed": 0.3, "safety/velocity": 18, "safety/acceleration": 9}
    assert alone(world, fine(world, 16, **slow)).reached == "production"


def test_interrupted_episodes_are_left_out_of_the_test_but_counted_as_aborted(world: World):
    broken = fine(world, 4, outcome="aborted", failure="interrupted")
    refused(alone(world, fine(world, 16) + broken), "aborted")


def test_with_all_rules_satisfied_it_goes_live(world: World):
    assert alone(world, fine(world)).reached == "production"
    assert Registry.open(world.registry).production == world.digest(1)


def test_no_runlog_no_production(world: World):
    refused(world.promote(1, to="production"), *NONE_TRIED)


def test_a_simulated_or_damaged_runlog_is_refused(world: World):
    refused(alone(world, fine(world), source="mixed"), "evidence", *NONE_TRIED)
    log = runlog(world.path / "runs" / "other", fine(world))
    shard = next((log / "shards").rglob("episodes.parquet"))
    shard.chmod(0o600)
    shard.write_bytes(shard.read_bytes() + b" ")
    refused(world.promote(1, to="production", runlogs=(log,)), "evidence", *NONE_TRIED)
    refused(world.promote(1, to="production", runlogs=(world.path / "nowhere",)), "evidence", *NONE_TRIED)


def test_a_runlog_of_another_kind_of_robot_is_no_evidence(world: World):
    refused(alone(world, fine(world), model="so101"), "evidence", *NONE_TRIED)


def test_evidence_cannot_be_taken_back(world: World):
    """A log with failures stays evidence: it counts if it is not given again, and its absence is an error."""
    bad = [Trial(world.digest(1), False) for _ in range(8)]
    refused(alone(world, bad), "trials", "sequential test", "success")
    good = runlog(world.path / "runs" / "good", fine(world), began=BEGAN + timedelta(days=1))
    promotion = world.promote(1, to="production", runlogs=(good,))
    assert "sequential test" in {finding.rule for finding in promotion.steps[0].decision.failed}
    shutil.rmtree(world.path / "runs" / "log")
    promotion = world.promote(1, to="production", runlogs=(good,))
    assert "evidence" in {finding.rule for finding in promotion.steps[0].decision.failed}
    runlog(world.path / "runs" / "log", fine(world))  # another one in its place
    promotion = world.promote(1, to="production", runlogs=(good,))
    assert "evidence" in {finding.rule for finding in promotion.steps[0].decision.failed}
    assert not promotion.promoted


def test_a_log_may_grow(world: World):
    refused(alone(world, fine(world, 4), shard=4), "trials", "sequential test")
    assert alone(world, fine(world, 16), shard=4).reached == "production"


# --- against a live policy -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policy 1 is live, policy 2 is in canary."""
    path = tmp_path_factory.mktemp("two") / "world"
    shutil.copytree(template, path)
    world = World(path)
    world.promote(1, runlogs=(runlog(path / "runs" / "first", fine(world)),))
    world.policy(2)
    assert world.promote(2, to="canary", evaluations=(world.evaluated(2), world.evaluated(1))).reached == "canary"
    return path


@pytest.fixture
def rivals(two: Path, tmp_path: Path) -> World:
    shutil.copytree(two, tmp_path / "rivals")
    return World(tmp_path / "rivals")


def test_the_live_policy_must_have_met_the_same_draws(world: World):
    world.promote(1, runlogs=(runlog(world.path / "runs" / "first", fine(world)),))
    world.policy(2)
    other_draws = (world.evaluated(2, seed=1_000_005),)
    refused(world.promote(2, to="validated", evaluations=other_draws), "no regress")
    world.policy(3)
    worse = (world.evaluated(3, rate=FAIR),)
    refused(world.promote(3, to="validated", evaluations=worse), "no regress")
    assert Registry.open(world.registry).production == world.digest(1)


def meet(world: World, turns: list[Trial]) -> Promotion:
    return world.promote(2, to="production", runlogs=(runlog(world.path / "runs" / "met", turns),))


def test_one_after_the_other_is_not_in_turns(rivals: World):
    turns = in_turns(rivals.digest(2), [True] * 20, rivals.digest(1), list(some(POOR, 20)))
    refused(meet(rivals, turns[::2] + turns[1::2]), "interleaved")


def test_without_a_control_arm_the_live_policy_is_not_replaced(rivals: World):
    refused(meet(rivals, [Trial(rivals.digest(2))] * 20), "trials", "interleaved", "sequential test")


def test_a_control_arm_of_another_policy_is_none(rivals: World):
    turns = in_turns(rivals.digest(2), [True] * 20, "e" * 64, [False] * 20)
    refused(meet(rivals, turns), "trials", "interleaved", "sequential test")


def test_a_worse_policy_does_not_replace_a_better_one(rivals: World):
    turns = in_turns(rivals.digest(2), list(some(POOR, 30)), rivals.digest(1), list(some(GOOD, 30)))
    refused(meet(rivals, turns), "sequential test")
    assert Registry.open(rivals.registry).production == rivals.digest(1)


def test_unknown_outcomes_count_against_the_candidate_and_for_the_control(rivals: World):
    unknown = {"outcome": "unknown"}
    turns = in_turns(rivals.digest(2), [True] * 20, rivals.digest(1), [True] * 20)
    turns = [replace(turn, columns=unknown) if turn.arm == "control" else turn for turn in turns]
    assert meet(rivals, turns).steps[0].decision.figures["test"]["for"][-1] < np.log(20)


def test_a_better_policy_replaces_the_live_one(rivals: World):
    turns = in_turns(rivals.digest(2), [True] * 20, rivals.digest(1), list(some(POOR, 20)))
    assert meet(rivals, turns).reached == "production"
    registry = Registry.open(rivals.registry)
    assert registry.state.stack == (rivals.digest(1), rivals.digest(2))
