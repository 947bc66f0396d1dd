"""Calibration where motion is chaotic: objects that fall, bounce and tumble (`search: population` in a bench file)."""

from collections.abc import Callable, Sequence

import numpy as np

from twinloop import __version__
from twinloop.calibrate.band import reach_of
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import Checked
from twinloop.calibrate.cross_validation import ALONE
from twinloop.calibrate.fit import Fit, proposed_ranges
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.calibrate.population import Errors, EvaluatedSets, evolve, loss, posterior
from twinloop.calibrate.posterior import DRAWS
from twinloop.calibrate.replay import difference
from twinloop.calibrate.sweep import HERE, Where
from twinloop.errors import UsageError

MOST_LOGS = 40
GENERATIONS = 10
UNKNOWN_SHARE = 0.55
"""A variable is unknown if its 90 % interval is wider than this share of its bounds (uniform: 0.9)."""
FOLDS = 4
INSIDE = 0.9

OnProgress = Callable[[str, int, int], None]


def fit_by_population(
    bench: Bench,
    checked: Checked,
    names: Sequence[str],
    *,
    seed: int,
    where: Where = HERE,
    on_progress: OnProgress | None = None,
    generations: int = GENERATIONS,
) -> Fit:
    """Fit variables with a cross-entropy search, on up to `MOST_LOGS` logs that are spread evenly.

    Args:
        names: fit variables.
        on_progress: called with (activity, done, total).
    """
    if not names:
        raise UsageError(f"{bench.path}: nothing to fit: give fit variables with --fit, or under `fit` in the file")
    count = min(MOST_LOGS, len(checked.logs))
    chosen = sorted(set(np.linspace(0, len(checked.logs) - 1, count).round().astype(int).tolist()))
    used = [checked.logs[place] for place in chosen]
    rng = np.random.default_rng(seed)
    known, unknown = list(names), {}
    errors, evaluated, places = _search(bench, used, known, generations, rng, where, on_progress)
    for name, why in _unknown(errors, known, places).items():
        unknown[name] = why
    if unknown and len(unknown) < len(known):
        # An undetermined variable goes back to the value of the bench, and the others are fitted again.
        known = [name for name in known if name not in unknown]
        errors, evaluated, places = _search(bench, used, known, generations // 2, rng, where, on_progress)
    elif unknown:
        reasons = "; ".join(f"{name}: {missing.reason}" for name, missing in unknown.items())
        raise UsageError(f"none of the requested parameters can be determined from these logs: {reasons}")
    best = _best(errors, evaluated, places)
    drawn = places[rng.choice(len(places), DRAWS, replace=False)]
    patch = TwinPatch(
        fitted=(fitted := _fitted(errors, known, best, places)),
        unknown=unknown,
        samples={name: tuple(map(float, column)) for name, column in zip(known, errors.values(drawn).T, strict=True)},
        spread=_spread(bench, errors, evaluated, drawn),
        ranges=proposed_ranges(bench, fitted),
        provenance=_provenance(bench, errors, best, seed),
        notes=tuple(f"{finding.severity}: {finding}" for finding in checked.findings),
    )
    rest = [log.name for place, log in enumerate(checked.logs) if place not in chosen]
    return Fit(patch, tuple(log.name for log in used), tuple(rest))


def _search(
    bench: Bench, used: Sequence, names: list[str], generations: int, rng: np.random.Generator, where: Where,
    on_progress: OnProgress | None,
) -> tuple[Errors, EvaluatedSets, np.ndarray]:  # fmt: skip
    errors = Errors(bench, used, names, where=where)
    step = None if on_progress is None else lambda done, total: on_progress("generations", done, total)
    evaluated = evolve(errors, generations=generations, rng=rng, on_progress=step)
    return errors, evaluated, posterior(evaluated, rng=rng)


def _unknown(errors: Errors, names: Sequence[str], places: np.ndarray) -> dict[str, Unknown]:
    low, high = np.quantile(places, [0.05, 0.95], axis=0)
    reason = "resampled recordings give values over its whole range: these logs hardly depend on it"
    return {
        name: Unknown(reason, errors.variables[place].reveals)
        for place, name in enumerate(names)
        if high[place] - low[place] > UNKNOWN_SHARE
    }


def _best(errors: Errors, evaluated: EvaluatedSets, places: np.ndarray) -> np.ndarray:
    """The mean of the posterior, unless it is worse by 5 % than the best evaluated set, which may be luck."""
    luck = evaluated.places[np.argmin(loss(evaluated).mean(axis=1))]
    both = np.stack([places.mean(axis=0), luck])
    again = EvaluatedSets(both, errors.of(both))
    mean = loss(again).mean(axis=1)
    return both[0] if mean[0] <= 1.05 * mean[1] else both[1]


def _fitted(errors: Errors, names: Sequence[str], best: np.ndarray, places: np.ndarray) -> dict[str, Fitted]:
    low, high = np.quantile(places, [0.05, 0.95], axis=0)
    value, bottom, top = (
        errors.values(place[None])[0] for place in (best, np.minimum(low, best), np.maximum(high, best))
    )
    return {
        name: Fitted(float(value[k]), float(bottom[k]), float(top[k]), errors.variables[k].unit)
        for k, name in enumerate(names)
    }


def _spread(
    bench: Bench, errors: Errors, evaluated: EvaluatedSets, drawn: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Channel -> band that, with the spread of the posterior's draws, contains 90 % of held-out measurements.

    The recordings are divided into `FOLDS` folds. Each fold is simulated with the best set of the other folds.
    """
    losses, logs = loss(evaluated), evaluated.errors.shape[1]
    folds = [np.arange(logs) % min(FOLDS, logs) == fold for fold in range(min(FOLDS, logs))]
    if logs < 2:
        folds = [np.zeros(logs, bool)]
    refits = np.stack([evaluated.places[np.argmin(losses[:, ~out].mean(axis=1))] for out in folds])
    simulated = errors.plant.simulate(errors.values(np.concatenate([refits, drawn])))
    spread = {}
    for channel in bench.compared:
        off, reach = [], []
        for place, track in enumerate(errors.plant.tracks):
            fold = int(np.argmax([out[place] for out in folds]))
            rows = simulated[channel.name][:, place, : track.frames]
            off.append(-difference(channel, rows[fold], track.measured[channel.name]))
            reach.append(reach_of(channel, np.concatenate([rows[fold : fold + 1], rows[len(refits) :]])))
        low, high = _holding(np.concatenate(off).ravel(), np.concatenate(reach).ravel())
        wider = ALONE if logs < 2 else 1.0
        spread[channel.name] = wider * low, wider * high
    return spread


def _holding(off: np.ndarray, reach: np.ndarray) -> tuple[float, float]:
    """(low, high) of a band that contains the share INSIDE of `off` when it is widened by `reach`."""
    known = np.isfinite(off)
    off, reach = off[known], reach[known]
    low, high = (float(end) for end in np.quantile(off, [(1 - INSIDE) / 2, (1 + INSIDE) / 2]))
    low, high = min(low, 0.0), max(high, 0.0)
    small, large = 0.0, 1.0
    for _ in range(20):
        share = (small + large) / 2
        inside = (off >= -np.hypot(share * low, reach)) & (off <= np.hypot(share * high, reach))
        small, large = (small, share) if inside.mean() > INSIDE else (share, large)
    return large * low, large * high


def _provenance(bench: Bench, errors: Errors, best: np.ndarray, seed: int) -> Provenance:
    off = errors.of(best[None])[0]
    rmse = np.sqrt(np.mean(off**2, axis=0))
    return Provenance(
        twin=bench.name,
        twin_digest=bench.digest,
        logs={track.log.name: track.log.digest for track in errors.plant.tracks},
        residual={
            channel.name: {"rmse": float(f"{rmse[k]:.6g}"), "mae": float(f"{off[:, k].mean():.6g}")}
            for k, channel in enumerate(bench.compared)
        },
        code=f"twinloop {__version__}",
        seed=seed,
    )
