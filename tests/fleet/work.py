"""Work for workers of any kind: plain, deadly, failing and mistaken."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from twinloop.errors import StorageError
from twinloop.fleet.executor import overlapping

_WARMED_UP_IN: list[int] = []


def warm_up() -> None:
    _WARMED_UP_IN.append(os.getpid())


def report_warm_up(_job: None, items: Iterator[int]) -> Iterator[tuple[int, bool]]:
    for item in items:
        yield item, [os.getpid()] == _WARMED_UP_IN


def double(_job: None, items: Iterator[int]) -> Iterator[tuple[int, int]]:
    for item in items:
        yield item, 2 * item


def die_once(flag: str, items: Iterator[int]) -> Iterator[tuple[int, int]]:
    for item in items:
        if item == 5 and not Path(flag).exists():
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield item, 2 * item


def die_always(_job: None, items: Iterator[int]) -> Iterator[tuple[int, int]]:
    for item in items:
        os.kill(os.getpid(), signal.SIGKILL)
        yield item, item


def run_out_of_disk(_job: None, items: Iterator[int]) -> Iterator[tuple[int, int]]:
    for item in items:
        raise StorageError(f"no room for {item}")
        yield item, item


def stumble(_job: None, items: Iterator[int]) -> Iterator[tuple[int, int]]:
    for item in items:
        yield item, item // 0


@overlapping
def four_at_once(counts: str, items: Iterator[int | None]) -> Iterator[tuple[int, int]]:
    """Finish items four at a time, and write down how many this worker did."""
    begun: list[int] = []
    done = 0
    while True:
        while len(begun) < 4 and (item := next(items, -1)) != -1:
            if item is None:
                break
            begun.append(item)
        if not begun:
            break
        time.sleep(0.02 * len(begun))
        for number in begun:
            yield number, 2 * number
        done += len(begun)
        begun = []
    (Path(counts) / str(os.getpid())).write_text(str(done))
