"""The monitor: no alarm at the expected rates; a confirmed drop opens an incident and rolls back."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.gate.checkpoints import SPACE
from tests.gate.kills import killed_at
from tests.gate.runlogs import Trial, in_turns, runlog
from tests.gate.world import POOR, World, some
from twinloop.errors import CorruptError, RegistryError
from twinloop.gate.monitor.act import MonitorResult, look
from twinloop.gate.monitor.drift import TrainingScales
from twinloop.gate.registry import Registry
from twinloop.gate.status import problems_of

AFTER = datetime.now(UTC) + timedelta(hours=1)
SCALES = TrainingScales(SPACE, {"observation.state": (np.zeros(2), np.full(2, 0.1))})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policy 2 is live, policy 1 was."""
    world = World(tmp_path_factory.mktemp("template"))
    world.live(1)
    world.policy(2)
    turns = in_turns(world.digest(2), [True] * 20, world.digest(1), list(some(POOR, 20)))
    evaluations = (world.evaluated(2), world.evaluated(1))
    logs = (runlog(world.path / "runs" / "met", turns),)
    assert world.promote(2, evaluations=evaluations, runlogs=logs).reached == "production"
    return world.path


@pytest.fixture
def world(template: Path, tmp_path: Path) -> World:
    """A copy of the template for one test. Evidence stays in the folder of the template."""
    shutil.copytree(template, tmp_path / "world")
    return World(tmp_path / "world")


def work(world: World, episodes: list[Trial], *, scales: TrainingScales | None = SCALES) -> MonitorResult:
    log = runlog(world.path / "runs" / "work", episodes, began=AFTER, shard=5)
    return look(world.registry, (log,), world.rules, scales=scales)


def good(world: World, count: int, **changes) -> list[Trial]:
    return [Trial(world.digest(2), arm="", **changes) for _ in range(count)]


def bad(world: World, count: int) -> list[Trial]:
    return [Trial(world.digest(2), False, arm="", columns={"failure": "never_grasped"}) for _ in range(count)]


def test_a_policy_at_its_expected_rates_raises_no_alarm(world: World):
    result = work(world, good(world, 60))
    assert [signal.alarm for signal in result.watched] == [None] * 4
    assert result.incidents == ()
    assert result.rolled_back is None
    assert Registry.open(world.registry).production == world.digest(2)


def test_a_confirmed_drop_rolls_back_and_opens_the_episodes(world: World):
    result = work(world, good(world, 30) + bad(world, 20))
    assert result.rolled_back is not None
    assert result.rolled_back.actor == "monitor"
    registry = Registry.open(world.registry)
    assert registry.production == world.digest(1)
    assert registry.stage(world.digest(2)) == "validated"
    (path,) = result.incidents
    incident = json.loads(path.read_text())
    assert incident["checkpoint"] == world.digest(2)
    assert incident["signal"] == "success"
    attempts = [episode["attempt"] for episode in incident["episodes"]]
    assert set(range(30, attempts[-1] + 1)) <= set(attempts)
    assert attempts[0] >= 25
    assert all("failure: never grasped" in episode["reasons"] for episode in incident["episodes"] if episode["suspect"])
    assert problems_of(world.registry) == ()


def test_a_twin_that_predicted_better_is_demoted_too(world: World):
    assert work(world, bad(world, 40)).rolled_back is not None
    assert "0.95" in Registry.open(world.registry).state.demoted["c" * 64]


def test_after_a_rollback_old_evidence_does_not_bring_it_back(world: World):
    work(world, good(world, 30) + bad(world, 20))
    promotion = world.promote(2, human_ready=True)
    assert promotion.reached == "canary"
    promotion = world.promote(2, to="production")
    assert not promotion.promoted
    assert "trials" in {finding.rule for finding in promotion.steps[0].decision.failed}


def test_with_nothing_to_return_to_nothing_is_live(tmp_path: Path):
    world = World(tmp_path)
    world.live(1)
    log = runlog(world.path / "runs" / "work", [Trial(world.digest(1), False)] * 25, began=AFTER)
    result = look(world.registry, (log,), world.rules, scales=None)
    assert result.rolled_back is not None
    assert result.rolled_back.verdict == "withdrawn"
    assert Registry.open(world.registry).production == ""


@pytest.mark.parametrize("columns", [{"interventions": 1}, {"safety/force": 15}])
def test_a_rise_of_interventions_or_of_the_filter_rolls_back(world: World, columns: dict):
    result = work(world, good(world, 10) + good(world, 40, columns=columns))
    assert result.rolled_back is not None
    assert Registry.open(world.registry).production == world.digest(1)


def test_inputs_unlike_the_training_data_open_an_incident_once_and_leave_it_live(world: World):
    episodes = good(world, 10) + good(world, 25, state=0.9)
    result = work(world, episodes)
    assert [signal.name for signal in result.watched if signal.alarm] == ["drift"]
    assert result.rolled_back is None
    incident = json.loads(result.incidents[0].read_text())
    assert any("training standard deviations away" in reason for reason in incident["episodes"][-1]["reasons"])
    assert work(world, episodes + good(world, 5, state=0.9)).incidents == ()
    assert Registry.open(world.registry).production == world.digest(2)


def test_with_roll_back_off_it_only_opens_incidents(world: World):
    world.rules = replace(world.rules, monitor=replace(world.rules.monitor, roll_back=False))
    result = work(world, bad(world, 25))
    assert result.incidents
    assert result.rolled_back is None
    assert Registry.open(world.registry).production == world.digest(2)


def test_only_episodes_of_the_live_policy_since_it_went_live_count(world: World):
    others = [Trial(world.digest(1), False, arm="")] * 30
    assert len(work(world, others + good(world, 5)).episodes) == 5
    before = runlog(world.path / "runs" / "before", bad(world, 30))
    logs = (world.path / "runs" / "work", before)
    assert len(look(world.registry, logs, world.rules, scales=None).episodes) == 5


def test_monitoring_in_steps_equals_monitoring_at_once(world: World):
    whole = good(world, 30) + bad(world, 20)
    ways = [work(world, whole[:stop]).watched[0].closeness for stop in (10, 30, 35)]
    assert [len(way) for way in ways] == [10, 30, 35]
    assert all(np.array_equal(longer[: len(way)], way) for way, longer in pairwise(ways))
    assert work(world, whole).rolled_back is not None


def test_monitored_episodes_cannot_be_altered_or_omitted(world: World):
    work(world, good(world, 10))
    other = runlog(world.path / "runs" / "other", good(world, 10), began=AFTER)
    with pytest.raises(RegistryError, match="was monitored before"):
        look(world.registry, (other,), world.rules, scales=None)
    shutil.rmtree(world.path / "runs" / "work")
    with pytest.raises(CorruptError, match="changed since they were given as evidence"):
        work(world, good(world, 8) + bad(world, 2))


def test_killed_at_any_write_the_next_look_finishes_it(world: World):
    log = runlog(world.path / "runs" / "work", good(world, 5) + bad(world, 20), began=AFTER)
    count = 1
    while killed_at(count, lambda: look(world.registry, (log,), world.rules, scales=None), halfway=True):
        assert problems_of(world.registry) == ()
        count += 1
        if Registry.open(world.registry).production == world.digest(1):
            break
    registry = Registry.open(world.registry)
    assert registry.production == world.digest(1)
    assert sum(record.kind == "incident" for record in registry.ledger.records) == 1
    assert count > 5
