"""Deadlines: kept without drift in real time, and never missed in lockstep."""

import time

import pytest

from twinloop.deploy.operator_input import EpisodeStopped
from twinloop.deploy.schedule import Deadlines, Lockstep, Realtime

PERIOD_S = 0.05


def test_periods_do_not_drift():
    schedule = Realtime(period_s=PERIOD_S)
    schedule.begin()
    first = schedule.deadline_s
    missed = 0
    for _ in range(10):
        time.sleep(PERIOD_S / 10)
        missed += schedule.turn()
    # Deadlines do not shift, even if this machine missed some.
    periods = (schedule.deadline_s - first) / PERIOD_S
    assert periods == pytest.approx(round(periods), abs=1e-6)
    assert 10 <= round(periods) <= 10 + missed


def test_a_late_period_is_missed_and_does_not_move_the_others():
    schedule = Realtime(period_s=PERIOD_S)
    schedule.begin()
    before = schedule.deadline_s
    time.sleep(2.5 * PERIOD_S)
    assert schedule.turn() >= 2
    periods = (schedule.deadline_s - before) / PERIOD_S
    assert periods == pytest.approx(round(periods), abs=1e-6)
    assert schedule.deadline_s > time.monotonic() - PERIOD_S


def test_in_lockstep_nothing_is_missed():
    schedule = Lockstep(inference_timeout_s=0.01)
    time.sleep(0.03)
    assert schedule.turn() == 0
    assert schedule.deadline_s > time.monotonic() - 0.01


def test_one_miss_is_made_up_for_and_two_stop():
    deadlines = Deadlines()
    for missed in (0, 1, 0, 1, 0):
        deadlines.note(missed)
    assert deadlines.missed == 2
    deadlines.note(1)
    with pytest.raises(EpisodeStopped, match="2 deadlines in a row"):
        deadlines.note(1)
    with pytest.raises(EpisodeStopped):
        Deadlines().note(2)
