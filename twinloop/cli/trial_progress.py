"""The progress of an evaluation: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from twinloop.cli.progress import LINE_EVERY_S
from twinloop.pipeline.evaluate import TrialProgress


@contextmanager
def show_trial(console: Console, name: str) -> Iterator[Callable[[TrialProgress], None]]:
    if not console.is_terminal:
        yield _lines(console, name)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[succeeded]:,} succeeded[/]"),
        TextColumn("{task.fields[rate]:.1f}/s"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"evaluating {name}", total=None, succeeded=0, rate=0.0)

        def update(progress: TrialProgress) -> None:
            bar.update(
                task,
                total=progress.planned,
                completed=progress.attempted,
                succeeded=progress.succeeded,
                rate=progress.episodes_per_second,
            )

        yield update


def _lines(console: Console, name: str) -> Callable[[TrialProgress], None]:
    last = time.monotonic()

    def update(progress: TrialProgress) -> None:
        nonlocal last
        if time.monotonic() - last < LINE_EVERY_S:
            return
        last = time.monotonic()
        console.print(
            f"{name}: {progress.attempted:,}/{progress.planned:,} episodes, {progress.succeeded:,} succeeded, "
            f"{progress.episodes_per_second:.1f}/s"
        )

    return update
