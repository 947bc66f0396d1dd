"""Progress of long work: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich import progress as rich_progress
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

LINE_EVERY_S = 10.0


@dataclass(frozen=True)
class Progress:
    """done of total, and what else there is to say, as rich text."""

    done: int
    total: int
    told: str


@contextmanager
def show_progress(console: Console, doing: str) -> Iterator[Callable[[Progress], None]]:
    """doing: `generating`, in front of the bar."""
    if not console.is_terminal:
        yield _lines(console, doing)
        return
    columns = (
        TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with rich_progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, told="")
        yield lambda standing: bar.update(task, total=standing.total, completed=standing.done, told=standing.told)


def _lines(console: Console, doing: str) -> Callable[[Progress], None]:
    began = last = time.monotonic()
    first: int | None = None

    def update(standing: Progress) -> None:
        nonlocal last, first
        first = standing.done if first is None else first
        now = time.monotonic()
        if now - last < LINE_EVERY_S:
            return
        last = now
        rate = (standing.done - first) / (now - began)
        left = f", {(standing.total - standing.done) / rate:.0f} s left" if rate > 0 else ""
        console.print(f"{doing}: {standing.done:,}/{standing.total:,}, {standing.told}{left}")

    return update
