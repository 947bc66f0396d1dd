"""Load balancing at the end of a run, so that all workers end at about the same time.

A worker that simulates many items at once asks for several when a group of them ends. Near the end of a run, the first
worker that asks would take all remaining items, and the others would wait for it.
"""

import statistics
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

REMEMBERED = 32
"""Number of finished items whose median duration is used to estimate the progress of an item."""


class Taken:
    """The unfinished items of a worker. Items may not be hashable."""

    def __init__(self, durations: "Durations"):
        self._durations = durations
        self._begun: list[tuple[Any, float]] = []

    @property
    def items(self) -> list[Any]:
        return [item for item, _ in self._begun]

    def add(self, item: Any) -> None:
        self._begun.append((item, time.monotonic()))

    def remove(self, item: Any) -> None:
        place = self.items.index(item)
        _, begun = self._begun.pop(place)
        self._durations.add(time.monotonic() - begun)

    def work(self) -> float:
        """Estimated work that is left, in items."""
        now = time.monotonic()
        return sum(self._durations.left(now - begun) for _, begun in self._begun)


class Durations:
    """How long items take from the time a worker takes them."""

    def __init__(self) -> None:
        self._last = deque[float](maxlen=REMEMBERED)

    def add(self, seconds: float) -> None:
        self._last.append(seconds)

    def left(self, age_s: float) -> float:
        """Estimated share of an item that is still to be done."""
        return max(0.0, 1 - age_s / statistics.median(self._last)) if self._last else 1.0


def leaves_to_others(taken: Taken, others: Iterable[Taken], waiting: int) -> bool:
    """Whether the other workers can finish all waiting items before this worker would finish one more.

    A worker without any item gets one.
    """
    if not taken.items:
        return False
    ready = taken.work() + 1
    return sum(max(0.0, ready - other.work()) for other in others) >= waiting
