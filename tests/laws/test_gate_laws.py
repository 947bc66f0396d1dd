"""Invariant 6: the gate fails closed, and promotion is one atomic pointer. Killed anywhere, either the old or the new
policy is live."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gate.checkpoints import checkpoint
from tests.gate.kills import killed_at
from twinloop.errors import CorruptError
from twinloop.gate.decision import Decision
from twinloop.gate.ledger import read_ledger
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import LIVE, POINTER, PROMOTED
from twinloop.gate.rules.finding import Measured, Rule, RuleResult

STEPS = ("candidate -> validated", "validated -> canary", "canary -> production")


def promote(place: Path, folder: Path) -> str:
    with writing(place, actor="ada") as writer:
        digest = writer.pin(folder).digest
        for step in STEPS:
            writer.decide(PROMOTED, checkpoint=digest, transition=step, reasons=["so it is"])
    return digest


def roll_back(place: Path) -> None:
    with writing(place, actor="ada") as writer:
        writer.roll_back(reasons=["it dropped things"])


@pytest.fixture
def started(tmp_path: Path) -> tuple[Path, str]:
    """A registry in which one policy is live."""
    place = tmp_path / "registry"
    return place, promote(place, checkpoint(tmp_path / "old", number=1))


def whole(place: Path, old: str, new: str) -> str:
    """Return which of the two is live. The registry must be valid, before and after the next writer."""
    registry = Registry.open(place)
    assert registry.production in (old, new)
    assert registry.production_checkpoint().digest == registry.production
    with writing(place, actor="ada"):
        pass
    settled = Registry.open(place)
    assert settled.production == registry.production
    assert not read_ledger(place).torn
    live = [record for record in settled.ledger.records if record.kind == POINTER and record.verdict == LIVE]
    assert live[-1].checkpoint == settled.production
    assert settled.state.stack[-1] == settled.production
    return settled.production


def killed_everywhere(place: Path, work: Callable[[Path], object], old: str, new: str, *, halfway: bool) -> list[str]:
    """The live policy after a kill at each call, in order, until the work completes without a kill."""
    states, before = [], place.with_name("before")
    shutil.copytree(place, before)
    while killed_at(len(states) + 1, lambda: work(place), halfway=halfway):
        states.append(whole(place, old, new))
        shutil.rmtree(place)
        shutil.copytree(before, place)
    return states


@pytest.mark.parametrize("halfway", [False, True])
def test_a_promotion_killed_at_any_write_leaves_the_old_policy_live_or_the_new_one(
    tmp_path: Path, started: tuple[Path, str], halfway: bool
):
    place, old = started
    folder = checkpoint(tmp_path / "new", number=2)
    new = promote(tmp_path / "elsewhere", folder)
    states = killed_everywhere(place, lambda at: promote(at, folder), old, new, halfway=halfway)
    turned = states.index(new)
    assert states == [old] * turned + [new] * (len(states) - turned)  # one moment, and never back
    assert turned > 15
    assert whole(place, old, new) == new


def test_a_rollback_killed_at_any_write_leaves_one_of_the_two_live(tmp_path: Path, started: tuple[Path, str]):
    place, old = started
    new = promote(place, checkpoint(tmp_path / "new", number=2))
    states = killed_everywhere(place, roll_back, old, new, halfway=True)
    turned = states.index(old)
    assert states == [new] * turned + [old] * (len(states) - turned)
    assert whole(place, old, new) == old


def test_repeating_the_call_completes_an_interrupted_change(tmp_path: Path, started: tuple[Path, str]):
    place, old = started
    folder = checkpoint(tmp_path / "new", number=2)
    new = promote(tmp_path / "elsewhere", folder)
    count = 1
    while killed_at(count, lambda: promote(place, folder)):
        count += 7
    assert whole(place, old, new) == new
    assert Registry.open(place).state.stack == (old, new)


def test_kills_at_random_moments_while_policies_come_and_go(tmp_path: Path, started: tuple[Path, str]):
    """Promote and roll back repeatedly; after a kill at any time one of the two is live and valid."""
    place, old = started
    folder = checkpoint(tmp_path / "new", number=2)
    new = promote(tmp_path / "elsewhere", folder)
    rng = random.Random(4)
    killed = 0
    for _ in range(12):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    (roll_back(place) if Registry.open(place).production == new else promote(place, folder))
            finally:
                os._exit(9)
        time.sleep(rng.uniform(0.005, 0.1))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        whole(place, old, new)
    assert killed == 12


def test_readers_see_the_old_policy_or_the_new_one_while_it_changes(tmp_path: Path, started: tuple[Path, str]):
    place, old = started
    folder = checkpoint(tmp_path / "new", number=2)
    new = promote(tmp_path / "elsewhere", folder)
    child = os.fork()
    if child == 0:
        try:
            while True:
                (roll_back(place) if Registry.open(place).production == new else promote(place, folder))
        finally:
            os._exit(9)
    try:
        seen = [Registry.open(place).production_checkpoint().digest for _ in range(150)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert set(seen) == {old, new}


def raising(error: Exception) -> Callable[[], Measured]:
    def measure() -> Measured:
        raise error

    return measure


@pytest.mark.parametrize("compared", ["at least", "at most", "is"])
@pytest.mark.parametrize("limit", [0.5, True, "accept"])
@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -float("inf"), "", "nan", False])
def test_missing_or_nan_evidence_fails_every_rule(value, limit, compared):
    finding = Rule("r", "asks", compared, limit, lambda: Measured(value, "said")).judge()
    assert not finding.passed
    assert finding.sentence


@pytest.mark.parametrize("compared", ["at least", "at most", "is"])
def test_a_rule_refuses_evidence_of_the_wrong_type(compared):
    for value, limit in ((1.0, True), (True, 1.0), (1, "1"), ("1", 1.0), (True, "accept")):
        assert not Rule("r", "asks", compared, limit, lambda value=value: Measured(value, "said")).judge().passed


@pytest.mark.parametrize(
    "error",
    [CorruptError("x"), ValueError("x"), KeyError("x"), ZeroDivisionError("x"), IndexError("x"), TypeError("x")],
)
def test_a_rule_without_evidence_fails_with_a_reason(error: Exception):
    finding = Rule("r", "asks", "at least", -1e9, raising(error)).judge()
    assert not finding.passed
    assert "x" in finding.sentence


def test_a_decision_needs_every_rule_to_hold():
    def decision(*passed: bool) -> Decision:
        findings = tuple(RuleResult("r", "asks", 1.0, "is", 1.0, holds, "said") for holds in passed)
        return Decision("d" * 64, "p", "canary -> production", findings, (), "", {})

    assert decision(True, True).promoted
    for some in ((), (False,), (True, False), (False, True, True)):
        assert not decision(*some).promoted
