"""How many demonstrations a series of collections asks for, and how many a runlog has."""

import itertools
from pathlib import Path

from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset import Dataset
from twinloop.dataset.layout import HEADER
from twinloop.errors import UsageError


def refuse_schedule(schedule: tuple[int, ...], rounds: int) -> None:
    """Raise UsageError if the demonstrations in total after each round do not rise, or are too few numbers."""
    numbers = ", ".join(map(str, schedule))
    if any(later <= earlier for earlier, later in itertools.pairwise((0, *schedule))):
        raise UsageError(
            f"--schedule: {numbers} does not rise; give the real demonstrations in total after each round, for example "
            "10,25,50,100"
        )
    if schedule and rounds > len(schedule):
        raise UsageError(f"--schedule: has {len(schedule)} numbers for {rounds} rounds; give one for each round")


def demonstrations_wanted(schedule: tuple[int, ...], place: int, *, spent: int) -> int:
    """Demonstrations that the collection at a place of the schedule adds to those that were made before."""
    return max(0, schedule[place] - spent) if place < len(schedule) else 0


def demonstrations_in(log: Path) -> int:
    """Number of accepted demonstrations; 0 where there is no runlog."""
    if not (log / HEADER).exists():
        return 0
    return Dataset.open(log).attempts()["verdict"].to_pylist().count(ACCEPTED)


def attempts_in(log: Path) -> int:
    """Number of demonstrations, accepted or not; 0 where there is no runlog."""
    return Dataset.open(log).attempts().num_rows if (log / HEADER).exists() else 0
