"""Prefetcher: gathers the next batches in a thread while the current one is trained on, and measures the waiting."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from twinloop.learn.mixture import Batch

AHEAD = 2
"""Batches that are gathered ahead."""


class Prefetcher:
    """Batches of the steps from `start` to `stop`.

    Args:
        gather: returns the batch of a step. A batch is a function of its step, so gathering ahead changes nothing.
    """

    def __init__(self, gather: Callable[[int], Batch], start: int, stop: int):
        self._gather, self._steps = gather, range(start, stop)
        self._began_s: float | None = None
        self._waited_s = self._last_s = 0.0

    @property
    def waiting_share(self) -> float:
        """Share of the time since the first batch that training has waited for data."""
        if self._began_s is None or self._last_s <= self._began_s:
            return 0.0
        return self._waited_s / (self._last_s - self._began_s)

    def __iter__(self) -> Iterator[Batch]:
        with ThreadPoolExecutor(1, thread_name_prefix="batches") as pool:
            pending: list[Future[Batch]] = [pool.submit(self._gather, step) for step in self._steps[:AHEAD]]
            try:
                for step in self._steps:
                    asked_s = time.perf_counter()
                    batch = pending.pop(0).result()
                    now_s = time.perf_counter()
                    if self._began_s is None:
                        self._began_s = now_s  # the first batch cannot be gathered ahead
                    else:
                        self._waited_s += now_s - asked_s
                    if step + AHEAD < self._steps.stop:
                        pending.append(pool.submit(self._gather, step + AHEAD))
                    yield batch
                    self._last_s = time.perf_counter()
            finally:
                for future in pending:
                    future.cancel()
