"""The last items of a run go to the workers that are ready first."""

import pytest

from twinloop.fleet import balance
from twinloop.fleet.balance import Durations, Taken, leaves_to_others


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(balance.time, "monotonic", lambda: now[0])
    return now


def taken(clock: list[float], ages_s: list[float], *, duration_s: float = 10.0) -> Taken:
    durations = Durations()
    durations.add(duration_s)
    worker = Taken(durations)
    now = clock[0]
    for number, age_s in enumerate(ages_s):
        clock[0] = now - age_s
        worker.add(number)
    clock[0] = now
    return worker


def test_work_is_what_is_left_of_each_item(clock):
    assert taken(clock, [0.0, 5.0, 9.0]).work() == pytest.approx(1 + 0.5 + 0.1)
    assert taken(clock, [25.0]).work() == 0  # it takes longer than others; how long is not known


def test_items_count_as_a_whole_until_one_has_finished(clock):
    worker = Taken(Durations())
    worker.add("a")
    clock[0] = 1000.0
    assert worker.work() == 1


def test_the_median_of_finished_items_tells_how_far_an_item_is(clock):
    worker = Taken(Durations())
    for duration_s in (1.0, 4.0, 100.0):
        worker.add([duration_s])  # not hashable
        clock[0] += duration_s
        worker.remove([duration_s])
    worker.add("a")
    clock[0] += 1.0
    assert worker.work() == pytest.approx(0.75)


def test_a_worker_with_fresh_items_leaves_the_last_ones_to_a_worker_that_is_nearly_ready(clock):
    fresh, nearly_ready = taken(clock, [0.0] * 4), taken(clock, [9.0] * 4)
    assert leaves_to_others(fresh, [nearly_ready], waiting=4)  # 5 items of work here, 0.4 + 4 there
    assert not leaves_to_others(fresh, [nearly_ready], waiting=5)
    assert not leaves_to_others(nearly_ready, [fresh], waiting=1)


def test_several_workers_share_what_is_left(clock):
    fresh, ready = taken(clock, [0.0] * 2), taken(clock, [])
    assert not leaves_to_others(fresh, [ready], waiting=4)
    assert leaves_to_others(fresh, [ready, ready], waiting=4)


def test_a_worker_without_items_and_the_only_worker_get_one(clock):
    assert not leaves_to_others(taken(clock, []), [taken(clock, [])], waiting=1)
    assert not leaves_to_others(taken(clock, [0.0]), [], waiting=1)
