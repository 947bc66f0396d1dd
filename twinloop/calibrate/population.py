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
class Tried:
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
        self.bench, self.knobs = bench, [bench.knobs[name] for name in names]
        self.plant = BenchSimulator(bench, logs, names, where=where)

    @property
    def start(self) -> np.ndarray:
        return np.array([float(knob.inward(np.array(knob.value))) for knob in self.knobs])

    def values(self, places: np.ndarray) -> np.ndarray:
        return np.stack([knob.outward(places[:, k]) for k, knob in enumerate(self.knobs)], axis=1)

    def of(self, places: np.ndarray) -> np.ndarray:
        simulated = self.plant.simulate(self.values(places))
        found = np.empty((len(places), len(self.plant.tracks), len(self.bench.compared)))
        for number, channel in enumerate(self.bench.compared):
            for place, track in enumerate(self.plant.tracks):
                rows = simulated[channel.name][:, place, : track.frames]
                off = np.linalg.norm(difference(channel, rows, track.measured[channel.name]), axis=-1)
                found[:, place, number] = np.nanmean(np.where(np.isfinite(off) | np.isnan(off), off, 1e6), axis=1)
        return found


def evolve(
    errors: Errors, *, generations: int, rng: np.random.Generator, on_progress: Callable[[int, int], None] | None = None
) -> Tried:
    """Evaluate Sobol points of the box, then generations around the best. Returns all evaluated sets."""
    from scipy.stats import qmc

    knobs = len(errors.knobs)
    places = qmc.Sobol(knobs, rng=rng).random(FIRST)
    places[0] = errors.start
    tried = Tried(places, errors.of(places))
    for generation in range(generations):
        order = np.argsort(loss(tried).mean(axis=1))
        best = tried.places[order[:ELITE]]
        spread = np.clip(best.std(axis=0) * 1.2, NARROWEST, WIDEST)
        drawn = best.mean(axis=0) + spread * rng.standard_normal((GENERATION, knobs))
        # Reflect at the bounds.
        drawn = np.abs(np.mod(drawn + 1, 2) - 1) if knobs else drawn
        tried = Tried(np.concatenate([tried.places, drawn]), np.concatenate([tried.errors, errors.of(drawn)]))
        if on_progress is not None:
            on_progress(generation + 1, generations)
    return tried


def loss(tried: Tried) -> np.ndarray:
    """(sets, logs) loss of each set on each recording.

    All channels have equal weight: errors are divided by the least mean error of the channel. Square roots are used, so
    that one recording in which the object lands on another face does not outweigh many small improvements.
    """
    least = np.maximum(tried.errors.mean(axis=1).min(axis=0), 1e-12)
    return np.sqrt(tried.errors / least).mean(axis=2)


def posterior(tried: Tried, *, rng: np.random.Generator) -> np.ndarray:
    """(REPEATS, variables) places: the mean of the few best sets, for each resample of the recordings."""
    each = loss(tried)
    logs = each.shape[1]
    found = []
    for _ in range(REPEATS):
        weight = np.bincount(rng.integers(logs, size=logs), minlength=logs)
        found.append(tried.places[np.argsort(each @ weight)[:AVERAGED]].mean(axis=0))
    return np.array(found)
