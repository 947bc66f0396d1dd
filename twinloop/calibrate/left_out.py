"""What is left on logs that a fit has not seen: each group of them in turn, with the fit of the others.

The groups have nothing to do with one another, so they are work for an executor; everything else of a fit is one search
after another, in one process.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import Objective
from twinloop.calibrate.posterior import swing_factor
from twinloop.calibrate.replay import swing_of
from twinloop.calibrate.search import downhill

Group = tuple[int, ...]
"""Places of the logs that are left out."""

Left = dict[str, list[np.ndarray]]
"""By channel: residuals of each log, in the logs' unit, over how far the log swings."""


@dataclass(frozen=True)
class Refit:
    """What a worker must know: the fit of all logs, from which the others' is not far."""

    bench: Bench
    logs: tuple[Log, ...]
    names: tuple[str, ...]
    place: np.ndarray
    scale: np.ndarray
    typical: dict[str, float]
    rounds: int
    threads: int


def refit_without(job: Refit, groups: Iterator[Group]) -> Iterator[tuple[Group, Left]]:
    for out in groups:
        others = [log for k, log in enumerate(job.logs) if k not in out]
        objective = Objective(job.bench, others, job.names, threads=job.threads)
        objective.scale = job.scale.copy()
        found = downhill(objective, job.place, rounds=job.rounds)
        unseen = Objective(job.bench, [job.logs[k] for k in out], job.names, threads=job.threads)
        yield out, left_of(unseen, unseen.raw(found.place)[0], job.typical)


def left_of(unseen: Objective, raw: np.ndarray, typical: dict[str, float]) -> Left:
    left: Left = {channel.name: [] for channel in unseen.bench.compared}
    for number, channel in enumerate(unseen.bench.compared):
        for place, track in enumerate(unseen.plant.tracks):
            rows = raw[(unseen.channel_of == number) & (unseen.log_of == place)]
            far = swing_factor(swing_of(channel, track.measured[channel.name]), typical[channel.name])
            left[channel.name].append(rows / far)
    return left
