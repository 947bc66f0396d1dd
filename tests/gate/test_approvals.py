"""Approvals: on hardware, people must approve before a policy goes on; each counts once, and a rollback ends them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from tests.gate.world import World
from twinloop.errors import RegistryError
from twinloop.gate.case import Canary
from twinloop.gate.registry import Registry, writing
from twinloop.gate.robot_identity import RobotIdentity
from twinloop.gate.stage_limits import PERMIT

ARM = RobotIdentity("lerobot:arm.yaml", "panda", "A-17", "3.10", "f" * 64, simulated=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.policy(1)
    world.canary = Canary(ARM.id, 0.25, 40, ARM)
    world.rules = replace(world.rules, canary=replace(world.rules.canary, approvals=2))
    return world


def approve(world: World, person: str, stage: str = "canary") -> None:
    with writing(world.registry, actor=person) as writer:
        writer.approve(world.digest(1), stage)  # type: ignore[arg-type]


def test_two_different_people_must_approve(world: World):
    evaluated = world.evaluated(1)
    held_back = world.promote(1, evaluations=(evaluated,))
    assert held_back.reached == "validated"
    (finding,) = held_back.steps[-1].decision.failed
    assert finding.rule == "approvals"
    assert f"twinloop approve {world.digest(1)[:12]} --to canary" in finding.sentence
    approve(world, "ada")
    approve(world, "ada")
    assert world.promote(1, to="canary").reached == "validated"
    approve(world, "bob")
    promoted = world.promote(1, to="canary")
    assert promoted.reached == "canary"
    record = promoted.steps[-1].record
    assert record is not None
    assert record.details[PERMIT]["robots"] == [ARM.to_json()]
    assert record.details[PERMIT]["speed"] == 0.25


def test_two_people_who_approve_at_once_both_count(world: World):
    assert world.promote(1, evaluations=(world.evaluated(1),)).reached == "validated"
    together = Barrier(2)

    def approve_together(person: str) -> None:
        together.wait()
        approve(world, person)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(approve_together, ("ada", "bob")))
    registry = Registry.open(world.registry)  # it verifies the hash chain
    people = [approval.person for approval in registry.state.approvals[(world.digest(1), "canary")]]
    assert sorted(people) == ["ada", "bob"]
    assert world.promote(1, to="canary").reached == "canary"


def test_a_simulated_robot_needs_no_approval(world: World):
    world.canary = Canary("rehearsal:mild", 0.25, 40, replace(ARM, simulated=True))
    assert world.promote(1, evaluations=(world.evaluated(1),), to="canary").reached == "canary"


def test_a_rollback_ends_approvals(world: World):
    with writing(world.registry, actor="ada") as writer:
        writer.pin(world.path / "policies" / "p1")
    approve(world, "ada", "production")
    registry = Registry.open(world.registry)
    assert [one.person for one in registry.state.approvals[(world.digest(1), "production")]] == ["ada"]
    with writing(world.registry, actor="ada") as writer:
        writer.decide("promoted", checkpoint=world.digest(1), transition="canary -> production")
        with pytest.raises(RegistryError, match="is at stage production already"):
            writer.approve(world.digest(1), "production")
        writer.withdraw(reasons=["it dropped things"])
    assert not Registry.open(world.registry).state.approvals
