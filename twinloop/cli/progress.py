"""The progress of a run: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from twinloop.pipeline.generate import Progress

LINE_EVERY_S = 10.0


@contextmanager
def show_progress(console: Console) -> Iterator[Callable[[Progress], None]]:
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (
        TextColumn("generating"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[accepted]:,} accepted[/] [red]{task.fields[rejected]:,} rejected[/]"),
        TextColumn("{task.fields[rate]:.1f}/s"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, accepted=0, rejected=0, rate=0.0)

        def update(progress: Progress) -> None:
            bar.update(
                task,
                total=progress.planned,
                completed=progress.attempted,
                accepted=progress.accepted,
                rejected=progress.rejected,
                rate=progress.trajectories_per_second,
            )

        yield update


def _lines(console: Console) -> Callable[[Progress], None]:
    last = time.monotonic()

    def update(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last < LINE_EVERY_S:
            return
        last = time.monotonic()
        rate = progress.trajectories_per_second
        left = (progress.planned - progress.attempted) / rate if rate else float("inf")
        console.print(
            f"{progress.attempted:,}/{progress.planned:,} episodes, {progress.accepted:,} accepted, "
            f"{progress.rejected:,} rejected, {rate:.1f}/s, {left:.0f} s left"
        )

    return update
