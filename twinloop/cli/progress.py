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
    """Progress of a command: `done` of `total`, and further text in rich markup."""

    done: int
    total: int
    told: str


@contextmanager
def show_progress(console: Console, doing: str, *, time_left: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on a terminal, or print a line every 10 s elsewhere.

    Args:
        doing: the activity, shown in front of the bar, for example `Training`.
        time_left: append the estimated time left; False where the text of `Progress` has it already.
    """
    if not console.is_terminal:
        yield _lines(console, doing, time_left=time_left)
        return
    columns = (
        TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"),
        *((TimeRemainingColumn(),) if time_left else ()),
    )  # fmt: skip
    with rich_progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, told="")
        yield lambda standing: bar.update(task, total=standing.total, completed=standing.done, told=standing.told)


def format_duration(seconds: float) -> str:
    """Format a duration, for example `40 s`, `12 min` or `3 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def _lines(console: Console, doing: str, *, time_left: bool) -> Callable[[Progress], None]:
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
        left = f", {format_duration((standing.total - standing.done) / rate)} left" if rate > 0 and time_left else ""
        console.print(f"{doing}: {standing.done:,}/{standing.total:,}, {standing.told}{left}")

    return update
