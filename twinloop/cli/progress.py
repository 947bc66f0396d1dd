"""Progress of long work: a bar on a terminal, a line every 10 s elsewhere."""

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
    text: str


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
        TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[text]}"),
        *((TimeRemainingColumn(),) if time_left else ()),
    )  # fmt: skip
    with rich_progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, text="")
        yield lambda progress: bar.update(task, total=progress.total, completed=progress.done, text=progress.text)


def format_duration(seconds: float) -> str:
    """Format a duration, for example `40 s`, `12 min` or `3 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def _lines(console: Console, doing: str, *, time_left: bool) -> Callable[[Progress], None]:
    began = last = time.monotonic()
    first: int | None = None

    def update(progress: Progress) -> None:
        nonlocal last, first
        first = progress.done if first is None else first
        now = time.monotonic()
        if now - last < LINE_EVERY_S:
            return
        last = now
        rate = (progress.done - first) / (now - began)
        left = f"{format_duration((progress.total - progress.done) / rate)} left" if rate > 0 and time_left else ""
        parts = (f"{doing}: {progress.done:,}/{progress.total:,}", progress.text, left)
        console.print(", ".join(part for part in parts if part))

    return update
