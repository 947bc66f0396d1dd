"""Search where slopes say nothing: a population of parameter sets that moves to where its best are.

A tumbling thing that hits a table is chaotic: a hair's change of friction may turn it over once more. So nothing is
differentiated. Each generation is drawn about the best quarter of the last (the cross-entropy method), judged by
the mean error over whole recordings, with every recording's own error kept: what would have been best had other
recordings been made (a bootstrap over them) is the posterior.
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
    """`places`: (sets, knobs) from 0 to 1 between the bounds. `errors`: (sets, logs, channels) mean distance, in the
    logs' units."""

    places: np.ndarray
    errors: np.ndarray


class Errors:
    """Mean distance between twin and log, recording by recording, for many parameter sets at once."""

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
    errors: Errors, *, generations: int, rng: np.random.Generator, told: Callable[[int, int], None] | None = None
) -> Tried:
    """All that was tried: first all over the box, then about the best."""
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
        # A knob that would leave its bounds comes back from them.
        drawn = np.abs(np.mod(drawn + 1, 2) - 1) if knobs else drawn
        tried = Tried(np.concatenate([tried.places, drawn]), np.concatenate([tried.errors, errors.of(drawn)]))
        if told is not None:
            told(generation + 1, generations)
    return tried


def loss(tried: Tried) -> np.ndarray:
    """(sets, logs): channels weigh the same, each in units of the least mean error anybody reached. By their roots: one
    recording that by chance falls on another face must not outweigh many that are a little better."""
    least = np.maximum(tried.errors.mean(axis=1).min(axis=0), 1e-12)
    return np.sqrt(tried.errors / least).mean(axis=2)


def posterior(tried: Tried, *, rng: np.random.Generator) -> np.ndarray:
    """(REPEATS, knobs) places: the mean of the few best for recordings drawn anew, again and again."""
    each = loss(tried)
    logs = each.shape[1]
    found = []
    for _ in range(REPEATS):
        weight = np.bincount(rng.integers(logs, size=logs), minlength=logs)
        found.append(tried.places[np.argsort(each @ weight)[:AVERAGED]].mean(axis=0))
    return np.array(found)
