"""Roll-outs: wave by wave, each robot with its own limits, stopped by itself, and rolled back robot by robot."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.gate.runlogs import Trial, runlog
from tests.gate.world import World
from twinloop.errors import RegistryError, UsageError
from twinloop.gate.permit import RegistryEntry, permit_for
from twinloop.gate.registry import Registry, writing
from twinloop.gate.robot_identity import RobotIdentity
from twinloop.gate.rollout import advance, start_rollout, stop_rollout

ROBOTS = [RobotIdentity(f"arm-{letter}", "panda", letter, "1", "f" * 64, simulated=False) for letter in "bcd"]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Policy 1 was live and policy 2 is, by trials on a simulated robot."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = World(tmp_path)
    world.live(1)
    return world


def runlog_on(world: World, name: str, robot: RobotIdentity, *outcomes: bool) -> Path:
    began = datetime.now(UTC) + timedelta(minutes=1)
    episodes = [Trial(world.digest(1), success) for success in outcomes]
    return runlog(world.path / "runs" / name, episodes, robot=robot.id, began=began)


def entry(world: World, name: str) -> RegistryEntry:
    return RegistryEntry(world.registry, name)


def test_waves_open_one_after_the_other(world: World):
    start_rollout(world.registry, ROBOTS, [1], world.rules)
    first, second, third = ROBOTS
    assert permit_for(entry(world, "canary"), first).limits.speed == world.rules.canary.speed  # type: ignore[union-attr]
    with pytest.raises(RegistryError, match="the decision is about"):
        permit_for(entry(world, "production"), second)

    few = runlog_on(world, "few", first, True, True)
    result = advance(world.registry, [few], world.rules)
    assert (result.decision, result.reasons) == ("continue", ("trials are missing: arm-b: 2 of 5",))
    enough = runlog_on(world, "enough", first, *[True] * 5)
    result = advance(world.registry, [few, enough], world.rules)
    assert (result.decision, result.next_wave) == ("passed", ("arm-c", "arm-d"))
    permit = permit_for(entry(world, "production"), first)
    assert permit.limits is not None
    assert (permit.stage, permit.limits.speed) == ("production", world.rules.production.speed)
    assert permit_for(entry(world, "canary"), third).stage == "canary"

    logs = [runlog_on(world, robot.id, robot, *[True] * 5) for robot in (second, third)]
    assert advance(world.registry, logs, world.rules).decision == "finished"
    assert permit_for(entry(world, "production"), third).stage == "production"
    with pytest.raises(RegistryError, match="no roll-out is under way"):
        advance(world.registry, logs, world.rules)


def test_a_wave_that_does_worse_stops_and_every_robot_has_its_old_policy_again(world: World):
    start_rollout(world.registry, ROBOTS, [1, 2], world.rules)
    result = advance(
        world.registry, [runlog_on(world, "bad", ROBOTS[0], True, False, False, False, False)], world.rules
    )
    assert result.decision == "stopped"
    assert "1 of 5" in result.reasons[0]
    state = Registry.open(world.registry).state
    assert state.rollout is None
    assert not state.fleet
    with pytest.raises(RegistryError, match="the decision is about"):
        permit_for(entry(world, "production"), ROBOTS[0])


def test_a_wave_stops_as_soon_as_it_is_shown_to_be_worse(world: World):
    rules = replace(world.rules, rollout=replace(world.rules.rollout, trials=30))
    start_rollout(world.registry, ROBOTS[:1], [], rules)
    assert advance(world.registry, [runlog_on(world, "bad", ROBOTS[0], *[False] * 6)], rules).decision == "stopped"


def test_one_robot_is_rolled_back_alone(world: World):
    start_rollout(world.registry, ROBOTS[:1], [], world.rules)
    advance(world.registry, [runlog_on(world, "good", ROBOTS[0], *[True] * 5)], world.rules)
    with writing(world.registry, actor="ada") as writer:
        writer.withdraw(robot="arm-b", reasons=["its gripper is worn"])
    registry = Registry.open(world.registry)
    assert registry.live_on("arm-b") == ""
    assert registry.production == registry.live_on("rehearsal:harsh") == world.digest(1)
    with pytest.raises(RegistryError, match="nothing is live on arm-b"):
        permit_for(entry(world, "production"), ROBOTS[0])


def test_impossible_roll_outs_are_refused(world: World):
    with pytest.raises(UsageError, match="each once"):
        start_rollout(world.registry, [ROBOTS[0], ROBOTS[0]], [1], world.rules)
    with pytest.raises(UsageError, match="--waves"):
        start_rollout(world.registry, ROBOTS, [2, 2], world.rules)
    with pytest.raises(UsageError, match="is a ur5e"):
        start_rollout(world.registry, [replace(ROBOTS[0], model="ur5e")], [1], world.rules)
    start_rollout(world.registry, ROBOTS, [1], world.rules)
    with pytest.raises(RegistryError, match="a roll-out is under way"):
        start_rollout(world.registry, ROBOTS, [1], world.rules)
    stop_rollout(world.registry, reason="new grippers")
    with pytest.raises(RegistryError, match="no roll-out"):
        stop_rollout(world.registry, reason="again")
