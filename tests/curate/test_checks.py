"""Every check fires on the fault it is named after, and on nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from twinloop.curate.checks import CHECKS
from twinloop.curate.judge import judge
from twinloop.curate.limits import CurateConfig
from twinloop.curate.verdict import ACCEPTED
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

VICTIM = 5


def doctored(few: Episodes, channel: str, column: int, value: float) -> Episodes:
    """The same episodes, with one value changed in the middle of one of them."""
    tape = few.tape.copy()
    tape[few.starts[VICTIM] + 30, few.channels[channel].start + column] = value
    return replace(few, tape=tape)


FAULTS = {
    "non_finite": ("position", 2, np.nan),
    "left_workspace": ("environment", 0, 3.0),
    "object_jump": ("object_velocity", 1, 4.0),
    "deep_penetration": ("penetration", 0, 0.02),
    "hard_contact": ("hardest_contact", 0, 5000.0),
    "joint_limit": ("position", 1, 1.9),
    "velocity_limit": ("velocity", 6, 2.9),
    "torque_limit": ("effort", 5, 12.5),
}


def test_clean_episodes_pass(few: Episodes, twin: Twin):
    assert set(judge(few, twin, CurateConfig()).reasons) == {ACCEPTED}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(few: Episodes, twin: Twin, name: str):
    reasons = judge(doctored(few, *FAULTS[name]), twin, CurateConfig()).reasons
    assert reasons[VICTIM] == name
    assert set(reasons[:VICTIM] + reasons[VICTIM + 1 :]) == {ACCEPTED}


def test_an_object_over_the_edge_has_left_the_workspace(few: Episodes, twin: Twin):
    verdicts = judge(doctored(few, "environment", 2, -0.1), twin, CurateConfig())
    assert verdicts.reasons[VICTIM] == "left_workspace"
    assert verdicts.measures["left_workspace"][VICTIM] == np.inf


def test_outcomes_are_judged_too(few: Episodes, twin: Twin):
    flags = np.arange(len(few.lengths)) == VICTIM
    assert judge(replace(few, diverged=flags), twin, CurateConfig()).reasons[VICTIM] == "diverged"
    assert judge(replace(few, success=~flags), twin, CurateConfig()).reasons[VICTIM] == "task_failed"
    lenient = CurateConfig(require_success=False)
    assert judge(replace(few, success=~flags), twin, lenient).reasons[VICTIM] == ACCEPTED
    assert judge(few, twin, CurateConfig(longest_s=1.0)).reasons[VICTIM] == "too_long"


@pytest.mark.parametrize("name", ["diverged", "non_finite"])
def test_diverged_or_non_finite_episodes_are_never_storable(few: Episodes, twin: Twin, name: str):
    flags = np.arange(len(few.lengths)) == VICTIM
    bad = replace(few, diverged=flags) if name == "diverged" else doctored(few, *FAULTS[name])
    np.testing.assert_array_equal(judge(bad, twin, CurateConfig()).storable, ~flags)


def test_every_check_is_tested_here():
    # Others: tests/twin/test_handover.py for a person, tests/simulate/test_reach.py.
    assert {check.name for check in CHECKS} == {
        *FAULTS,
        "diverged",
        "task_failed",
        "too_long",
        "person_pushed",
        "unreachable",
    }


def test_an_episode_without_frames_is_judged(few: Episodes, twin: Twin):
    """A simulation may diverge before its first frame."""
    gone = few.starts[VICTIM] + np.arange(few.lengths[VICTIM])
    lengths = few.lengths.copy()
    lengths[VICTIM] = 0
    flags = lengths == 0
    empty = replace(few, tape=np.delete(few.tape, gone, axis=0), lengths=lengths, diverged=flags)
    verdicts = judge(empty, twin, CurateConfig())
    assert verdicts.reasons[VICTIM] == "diverged"
    assert not verdicts.storable[VICTIM]
    assert set(verdicts.reasons[:VICTIM] + verdicts.reasons[VICTIM + 1 :]) == {ACCEPTED}
