"""Local workers: every item is done once, a dead worker is replaced, an error reaches the driver."""

from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import pytest

from tests.fleet.work import die_always, die_once, double, four_at_once, report_warm_up, run_out_of_disk, stumble
from twinloop.errors import StorageError, WorkerError
from twinloop.fleet import local
from twinloop.fleet.balance import Taken
from twinloop.fleet.executor import Work
from twinloop.fleet.local import count_prepared, dismiss, prepare, run_local


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_is_done_once(workers: int):
    assert sorted(run_local(double, None, range(20), workers=workers)) == [(item, 2 * item) for item in range(20)]


def test_no_items_start_no_worker():
    assert list(run_local(double, None, [], workers=2)) == []


def test_a_worker_that_dies_is_replaced_and_its_item_done_again(tmp_path: Path):
    results = sorted(run_local(die_once, str(tmp_path / "died"), range(12), workers=2))
    assert (tmp_path / "died").exists()
    assert results == [(item, 2 * item) for item in range(12)]


def test_workers_that_keep_dying_are_not_replaced_for_ever():
    with pytest.raises(WorkerError, match="signal 9"):
        list(run_local(die_always, None, range(12), workers=2))


def test_an_error_keeps_its_kind_and_words():
    with pytest.raises(StorageError, match="no room for 0"):
        list(run_local(run_out_of_disk, None, [0], workers=2))


def test_a_bug_arrives_with_its_traceback():
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        list(run_local(stumble, None, [3, 4], workers=2))


def test_prepared_workers_that_died_while_they_waited_are_not_missed():
    prepare("tests.fleet.work", 4)
    for worker in local._PREPARED:
        worker.process.kill()
        worker.process.wait()
    assert sorted(run_local(double, None, range(6), workers=2)) == [(item, 2 * item) for item in range(6)]
    assert not local._PREPARED


def test_prepared_workers_are_counted_and_warm_up_once():
    prepare("tests.fleet.work", 2)
    assert count_prepared("tests.fleet.work") == 2
    assert count_prepared("twinloop.pipeline.produce") == 0
    assert dict(run_local(report_warm_up, None, range(4), workers=2)) == dict.fromkeys(range(4), True)
    assert count_prepared("tests.fleet.work") == 0


def test_prepared_workers_that_are_not_used_end():
    prepare("tests.fleet.work", 2)
    processes = [worker.process for worker in local._PREPARED]
    dismiss()
    assert not local._PREPARED
    assert all(process.returncode is not None for process in processes)


def test_work_that_does_several_items_at_once_gets_every_item_once(tmp_path: Path):
    results = sorted(run_local(four_at_once, str(tmp_path), range(22), workers=3))
    assert results == [(item, 2 * item) for item in range(22)]
    assert sum(int(file.read_text()) for file in tmp_path.iterdir()) == 22


@pytest.mark.parametrize(("work", "answer"), [(four_at_once, ("later",)), (double, ("item", 8))])
def test_only_work_that_does_several_items_at_once_is_told_to_ask_later(work: Work, answer: tuple):
    fleet = local._Fleet(work, None, deque([8, 9]))
    busy, idle = (cast(Connection, object()) for _ in range(2))
    fleet.taken = {worker: Taken(fleet.durations) for worker in (busy, idle)}
    for item in range(4):
        fleet.taken[busy].add(item)
    assert fleet.answer(busy) == answer
    fleet.waiting = deque([8, 9])
    assert fleet.answer(idle) == ("item", 8)
    fleet.waiting.clear()
    assert fleet.answer(busy) == ("end",)
