"""How far a twin is trusted follows from policies tried on both sides; one that was wrong is demoted."""

from pathlib import Path

import pytest

from tests.gate.runlogs import Trial, in_turns, runlog
from tests.gate.world import GOOD, POOR, World, some
from twinloop.gate.registry import Registry
from twinloop.gate.trust import twins_of

OTHER = "d" * 64
TWIN = "c" * 64


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Policy 1 is validated by a high success rate in the twin."""
    world = World(tmp_path)
    world.policy(1)
    world.promote(1, to="canary", evaluations=(world.evaluated(1),))
    return world


def fail_on_the_robot(world: World) -> None:
    log = runlog(world.path / "runs" / "bad", [Trial(world.digest(1), bool(success)) for success in some(0.2, 25)])
    assert not world.promote(1, to="production", runlogs=(log,)).promoted


def test_every_policy_tried_on_both_sides_is_a_pair(world: World):
    assert twins_of(Registry.open(world.registry), world.rules.canary)[TWIN].pairs == ()
    fail_on_the_robot(world)
    trust = twins_of(Registry.open(world.registry), world.rules.canary)[TWIN]
    (pair,) = trust.pairs
    assert (pair.policy, pair.robot) == (world.digest(1), "rehearsal:harsh")
    assert (pair.sim.successes, pair.sim.trials) == (190, 200)
    assert (pair.real.successes, pair.real.trials) == (5, 25)


def test_a_twin_with_wrong_predictions_is_demoted_and_is_not_enough_evidence(world: World):
    fail_on_the_robot(world)
    registry = Registry.open(world.registry)
    assert "0.95" in registry.state.demoted[TWIN]
    (record,) = [entry for entry in registry.ledger.records if entry.kind == "twin"]
    assert record.verdict == "demoted"
    world.policy(2)
    promotion = world.promote(2, evaluations=(world.evaluated(2),))
    assert promotion.reached == "validated"
    failed = {finding.rule: finding.sentence for finding in promotion.steps[-1].decision.failed}
    assert set(failed) == {"trust in the twin", "predicted success"}
    assert "supervised episodes" in failed["trust in the twin"]
    assert "another twin" in failed["trust in the twin"]


def test_another_trusted_twin_is_enough_evidence(world: World):
    fail_on_the_robot(world)
    world.policy(2)
    evaluations = (world.evaluated(2), world.evaluated(2, twin=OTHER))
    assert world.promote(2, to="canary", evaluations=evaluations).promoted


def test_supervised_real_episodes_are_enough_evidence(world: World):
    fail_on_the_robot(world)
    world.policy(2)
    few = runlog(world.path / "runs" / "few", [Trial(world.digest(2))] * 9)
    assert not world.promote(2, to="canary", evaluations=(world.evaluated(2),), runlogs=(few,)).promoted
    more = runlog(world.path / "runs" / "more", [Trial(world.digest(2))] * 12)
    assert world.promote(2, to="canary", evaluations=(world.evaluated(2),), runlogs=(more,)).promoted


def test_a_twin_with_right_predictions_stays_trusted_and_predicts(world: World):
    log = runlog(world.path / "runs" / "good", [Trial(world.digest(1), bool(success)) for success in some(0.9, 30)])
    assert world.promote(1, to="production", runlogs=(log,)).promoted
    trust = twins_of(Registry.open(world.registry), world.rules.canary)[TWIN]
    assert trust.failures == ()
    (pair,) = trust.pairs
    low, output = trust.predict(pair.sim, besides="")
    assert low == pytest.approx(pair.sim.interval[0] - 0.05)
    assert "minus its largest error so far (0.05)" in output


def test_a_twin_that_reverses_the_ranking_is_demoted(tmp_path: Path):
    """Each prediction is within the allowed gap, but the ranking is wrong."""
    world = World(tmp_path)
    rates = {1: (0.95, 0.78), 2: (0.9, 0.82), 3: (0.85, 0.9), 4: (0.8, 0.95), 5: (0.75, 1.0), 6: (0.97, 0.78)}
    evaluations, logs = [], []
    for number, (sim, real) in rates.items():
        world.policy(number)
        evaluations.append(world.evaluated(number, rate=sim, count=2000))
        trials = [Trial(world.digest(number), bool(success)) for success in some(real, 400)]
        logs.append(runlog(world.path / "runs" / f"{number}", trials, shard=400))
        world.promote(number, to="canary", evaluations=(evaluations[-1],), runlogs=(logs[-1],))
    trust = twins_of(Registry.open(world.registry), world.rules.canary)[TWIN]
    assert len(trust.pairs) == 6
    (task,) = trust.trust.tasks
    assert task.agreement.pearson is not None
    assert task.agreement.pearson < -0.8
    assert any("correlation" in failure for failure in trust.failures)
    assert TWIN in Registry.open(world.registry).state.demoted


def test_a_demoted_twin_is_restored_when_more_trials_confirm_it(world: World):
    """Earlier trials stay in the log; more trials change the judgement."""
    start = [Trial(world.digest(1), bool(success)) for success in some(POOR, 16)]
    log = runlog(world.path / "runs" / "log", start, shard=16)
    world.promote(1, to="production", runlogs=(log,))
    assert TWIN in Registry.open(world.registry).state.demoted
    runlog(world.path / "runs" / "log", start + [Trial(world.digest(1))] * 80, shard=16)
    world.promote(1, to="production", runlogs=(log,))
    registry = Registry.open(world.registry)
    assert TWIN not in registry.state.demoted
    assert [record.verdict for record in registry.ledger.records if record.kind == "twin"] == ["demoted", "restored"]


def test_the_control_arm_is_a_pair_too(world: World):
    log = runlog(world.path / "runs" / "first", [Trial(world.digest(1))] * 16)
    world.promote(1, to="production", runlogs=(log,))
    world.policy(2)
    evaluations = (world.evaluated(2), world.evaluated(1))
    turns = in_turns(world.digest(2), [True] * 20, world.digest(1), list(some(GOOD, 20)))
    world.promote(2, evaluations=evaluations, runlogs=(runlog(world.path / "runs" / "met", turns),))
    pairs = twins_of(Registry.open(world.registry), world.rules.canary)[TWIN].pairs
    assert {pair.policy: pair.real.trials for pair in pairs} == {world.digest(1): 36, world.digest(2): 20}
