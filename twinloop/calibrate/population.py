"""Cross-entropy search, for motion that is chaotic, such as a tumbling object that hits a table.

A tiny change of friction may turn such an object over once more, so slopes are useless. Each generation is drawn around
the best quarter of the last and judged by the mean error over whole recordings. The errors of each recording are kept:
a bootstrap over recordings gives the posterior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import difference
from twinloop.calibrate.sweep import HERE, Where

FIRST, GENERATION, ELITE = 64, 24, 6
WIDEST, NARROWEST = 0.3, 0.02
REPEATS, AVERAGED = 200, 5


@dataclass(frozen=True)
class EvaluatedSets:
    """Evaluated parameter sets.

    Attributes:
        places: (sets, variables) from 0 to 1 between the bounds.
        errors: (sets, logs, channels) mean distance, in the log's unit.
    """

    places: np.ndarray
    errors: np.ndarray


class Errors:
    """Mean distance between twin and log, per recording, for many parameter sets at once."""

    def __init__(self, bench: Bench, logs: Sequence[Log], names: Sequence[str], *, where: Where = HERE):
        self.bench, self.variables = bench, [bench.variables[name] for name in names]
        self.plant = BenchSimulator(bench, logs, names, where=where)

    @property
    def start(self) -> np.ndarray:
        return np.array([float(variable.inward(np.array(variable.value))) for variable in self.variables])

    def values(self, places: np.ndarray) -> np.ndarray:
        return np.stack([variable.outward(places[:, k]) for k, variable in enumerate(self.variables)], axis=1)

    def of(self, places: np.ndarray) -> np.ndarray:
        simulated = self.plant.simulate(self.values(places))
        distances = np.empty((len(places), len(self.plant.tracks), len(self.bench.compared)))
        for number, channel in enumerate(self.bench.compared):
            for place, track in enumerate(self.plant.tracks):
                rows = simulated[channel.name][:, place, : track.frames]
                off = np.linalg.norm(difference(channel, rows, track.measured[channel.name]), axis=-1)
                distances[:, place, number] = np.nanmean(np.where(np.isfinite(off) | np.isnan(off), off, 1e6), axis=1)
        return distances


def evolve(
    errors: Errors, *, generations: int, rng: np.random.Generator, on_progress: Callable[[int, int], None] | None = None
) -> EvaluatedSets:
    """Evaluate Sobol points of the box, then generations around the best. Returns all evaluated sets."""
    from scipy.stats import qmc

    variables = len(errors.variables)
    places = qmc.Sobol(variables, rng=rng).random(FIRST)
    places[0] = errors.start
    evaluated = EvaluatedSets(places, errors.of(places))
    for generation in range(generations):
        order = np.argsort(loss(evaluated).mean(axis=1))
        best = evaluated.places[order[:ELITE]]
        spread = np.clip(best.std(axis=0) * 1.2, NARROWEST, WIDEST)
        drawn = best.mean(axis=0) + spread * rng.standard_normal((GENERATION, variables))
        # Reflect at the bounds.
        drawn = np.abs(np.mod(drawn + 1, 2) - 1) if variables else drawn
        evaluated = EvaluatedSets(
            np.concatenate([evaluated.places, drawn]), np.concatenate([evaluated.errors, errors.of(drawn)])
        )
        if on_progress is not None:
            on_progress(generation + 1, generations)
    return evaluated


def loss(evaluated: EvaluatedSets) -> np.ndarray:
    """(sets, logs) loss of each set on each recording.

    All channels have equal weight: errors are divided by the least mean error of the channel. Square roots are used, so
    that one recording in which the object lands on another face does not outweigh many small improvements.
    """
    least = np.maximum(evaluated.errors.mean(axis=1).min(axis=0), 1e-12)
    return np.sqrt(evaluated.errors / least).mean(axis=2)


def posterior(evaluated: EvaluatedSets, *, rng: np.random.Generator) -> np.ndarray:
    """(REPEATS, variables) places: the mean of the few best sets, for each resample of the recordings."""
    losses = loss(evaluated)
    logs = losses.shape[1]
    means = []
    for _ in range(REPEATS):
        weight = np.bincount(rng.integers(logs, size=logs), minlength=logs)
        means.append(evaluated.places[np.argsort(losses @ weight)[:AVERAGED]].mean(axis=0))
    return np.array(means)
