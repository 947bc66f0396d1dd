"""From logs to a patch: choose what to look at, ask what can be known, search, and say how sure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop import __version__
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import Checked
from twinloop.calibrate.identify import beforehand, unidentified
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import LEAST_PULL, Objective, robust_cost
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.posterior import (
    PRIOR,
    Left,
    Posterior,
    PredictionBand,
    band_of,
    fitted_of,
    memory_of,
    posterior_of,
    reach_of,
    samples_of,
    swing_factor,
)
from twinloop.calibrate.profile import profiled
from twinloop.calibrate.replay import difference, held_against, swing_of
from twinloop.calibrate.search import Optimum, coarse, downhill
from twinloop.calibrate.sweep import HERE, Where
from twinloop.errors import UsageError
from twinloop.randomize.table import BY_NAME

BUDGET_STEPS = 24_000
"""Physics steps that one parameter set may cost: of more logs than that, evenly spaced ones are fitted on, and the
others show what is left."""
DOFS_TWICE_AS_DEAR = 6
"""An arm's step costs more than a pendulum's."""
LONGEST_S = 20.0
COARSE_POINTS, COARSE_STEPS = 32, 8_000  # on few logs, since every start is tried
STARTS = 2
SCOUT_ROUNDS, ROUNDS = 8, 24
WALKS, WALK_ROUNDS = 3, 8
FOLDS = 3
FOLD_ROUNDS = 8
ALONE = 2.0
"""What one log leaves over on its own fit is a poor witness of the next: its band is wider by this."""

Told = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fit:
    """A patch, and the logs behind it."""

    patch: TwinPatch
    used: tuple[str, ...]
    held_out: tuple[str, ...]


def calibrate(
    bench: Bench,
    checked: Checked,
    names: Sequence[str],
    *,
    seed: int,
    where: Where = HERE,
    told: Told | None = None,
) -> Fit:
    """Fit these knobs to the logs that passed the check."""
    if not names:
        raise UsageError(f"{bench.path}: nothing to fit: name knobs with --fit, or under `fit` in the file")
    used, rest = divided(bench, checked.logs, BUDGET_STEPS)
    objective = Objective(bench, used, names, where=where)
    unknown = beforehand(objective, seed=seed)
    known = [name for name in names if name not in unknown]
    _refuse_if_nothing(known, unknown)
    if len(known) < len(names):
        objective = Objective(bench, used, known, where=where)
    few, _ = divided(bench, used, COARSE_STEPS)
    scout = Objective(bench, few, known, where=where)
    found = coarse(scout, seed=seed, points=COARSE_POINTS, best=STARTS, told=_of(told, "looking around"))
    optimum = _descend(objective, _lowest(scout, [scout.start, *found], told), ROUNDS, told)
    optimum, posterior = _settle(objective, optimum, told)
    lost = unidentified(objective, posterior.information)
    while lost:
        # What turned out not to be known goes back to the bench's value, and the others are found again beside it.
        unknown |= lost
        stay = [k for k, name in enumerate(known) if name not in lost]
        known = [known[k] for k in stay]
        _refuse_if_nothing(known, unknown)
        objective = Objective(bench, used, known, where=where)
        optimum = _descend(objective, optimum.place[stay], ROUNDS // 2, told)
        # Walks are dear, and make nothing known that the slopes do not: first what they already say.
        lost = unidentified(objective, posterior_of(objective, optimum).information)
        if not lost:
            optimum, posterior = _settle(objective, optimum, told, walks=1)
            lost = unidentified(objective, posterior.information)
    samples = samples_of(objective, posterior, seed=seed)
    drawn = np.stack([samples[name] for name in known], axis=1)
    band = _band(bench, objective, optimum, drawn, used, rest, where=where, told=told)
    patch = _patch(bench, checked, objective, optimum, posterior, unknown, samples, band, seed=seed)
    return Fit(patch, tuple(log.name for log in used), tuple(log.name for log in rest))


def _refuse_if_nothing(known: list[str], unknown: dict[str, Unknown]) -> None:
    if not known:
        told_why = "; ".join(f"{name}: {each.reason}" for name, each in unknown.items())
        raise UsageError(f"none of the asked parameters can be known from these logs: {told_why}")


def divided(bench: Bench, logs: Sequence[Log], steps: int) -> tuple[list[Log], list[Log]]:
    """Logs to fit on, cut to their first LONGEST_S, and the others. Evenly spaced, so that no kind is left out."""
    longest = int(LONGEST_S * bench.logs.rate_hz)
    dear = 1 + bench.model.nv / DOFS_TWICE_AS_DEAR
    cost = [min(len(log), longest) * bench.substeps * dear for log in logs]
    many = max(1, min(len(logs), int(steps / max(np.mean(cost), 1))))
    chosen = set(np.unique(np.linspace(0, len(logs) - 1, many).astype(int)).tolist())
    used = [log.select(slice(0, longest)) for place, log in enumerate(logs) if place in chosen]
    return used, [log for place, log in enumerate(logs) if place not in chosen]


def _lowest(scout: Objective, starts: list[np.ndarray], told: Told | None) -> np.ndarray:
    """Downhill a little from every start, on few logs: where each block got lowest."""
    scout.rescale(scout.raw(starts[0])[0])
    reached = [downhill(scout, start, rounds=SCOUT_ROUNDS, told=_of(told, "scouting")) for start in starts]
    place = reached[0].place.copy()
    for block in scout.blocks:
        rows = scout.of_block(block)
        lowest = min(reached, key=lambda optimum: float(robust_cost(optimum.residual[rows])))
        place[block.knobs] = lowest.place[block.knobs]
    return place


def _descend(objective: Objective, place: np.ndarray, rounds: int, told: Told | None) -> Optimum:
    """Downhill until the worst is mended; then what counts as large is judged anew, and what the logs weigh against the
    bench's own values, since residuals that repeat their neighbours weigh less; and on from there."""
    objective.rescale(objective.raw(place)[0])
    objective.pull = LEAST_PULL
    optimum = downhill(objective, place, rounds=rounds // 3, told=_of(told, "fitting"))
    raw = optimum.residual * objective.scale[objective.channel_of]
    objective.rescale(raw)
    objective.pull = PRIOR * memory_of(objective, raw / objective.scale[objective.channel_of])
    return downhill(objective, optimum.place, rounds=rounds - rounds // 3, told=_of(told, "fitting closely"))


def _settle(
    objective: Objective, optimum: Optimum, told: Told | None, *, walks: int = WALKS
) -> tuple[Optimum, Posterior]:
    """How sure, with walks along every knob; where a walk meets a better place, the search goes on from there, as long
    as there are walks left."""
    turn = 1
    while True:
        posterior, better = profiled(objective, optimum, posterior_of(objective, optimum))
        if told is not None:
            told("walking along the knobs", turn, walks)
        if better is None or turn == walks:
            return optimum, posterior
        lower = downhill(objective, better, rounds=WALK_ROUNDS)
        if lower.cost >= optimum.cost:
            return optimum, posterior
        optimum, turn = lower, turn + 1


def _of(told: Told | None, doing: str) -> Callable[[int, int], None] | None:
    return None if told is None else lambda done, total: told(doing, done, total)


def _band(
    bench: Bench,
    objective: Objective,
    optimum: Optimum,
    samples: np.ndarray,
    used: list[Log],
    rest: list[Log],
    *,
    where: Where,
    told: Told | None,
) -> dict[str, PredictionBand]:
    """What is left between twin and logs where the fit has not looked: on the logs it left out, or, where it used
    them all, on each group of them with the fit of the others. `samples` are values of the posterior's draws."""
    names, typical = objective.names, typical_swings(objective)
    left: dict[str, list[Left]] = {channel.name: [] for channel in bench.compared}

    def look(plant: BenchSimulator, place: np.ndarray) -> None:
        simulated = plant.simulate(np.concatenate([objective.values(place), samples]))
        for channel in bench.compared:
            for number, track in enumerate(plant.tracks):
                rows = simulated[channel.name][:, number, : track.frames]
                far = swing_factor(swing_of(channel, track.measured[channel.name]), typical[channel.name])
                off = difference(channel, rows[0], track.measured[channel.name])
                left[channel.name].append(Left(off, far, reach_of(channel, rows)))

    if rest:
        few, _ = divided(bench, rest, BUDGET_STEPS)
        look(BenchSimulator(bench, few, names, where=where), optimum.place)
    elif len(used) < 2:
        look(objective.plant, optimum.place)
    else:
        groups = folds(used)
        for number, out in enumerate(groups):
            others = Objective(bench, [log for k, log in enumerate(used) if k not in out], names, where=where)
            others.scale, others.pull = objective.scale.copy(), objective.pull
            refit = downhill(others, optimum.place, rounds=FOLD_ROUNDS)
            look(BenchSimulator(bench, [used[k] for k in out], names, where=where), refit.place)
            if told is not None:
                told("leaving logs out", number + 1, len(groups))
    wider = 1.0 if rest or len(used) > 1 else ALONE
    return {name: band_of(rows, wider=wider) for name, rows in left.items()}


def typical_swings(objective: Objective) -> dict[str, float]:
    """How far each channel swings in the logs that are fitted on, in the logs' unit."""
    return {
        channel.name: float(
            np.mean([swing_of(channel, track.measured[channel.name]) for track in objective.plant.tracks])
        )
        for channel in objective.bench.compared
    }


def folds(logs: Sequence[Log]) -> list[list[int]]:
    """Groups of logs to leave out in turn: by a setting that differs between them, if there is one; it is what an
    unseen log will differ by as well."""
    for constant in logs[0].constants:
        values = [log.constants.get(constant, np.nan) for log in logs]
        kinds = sorted(set(values))
        if 2 <= len(kinds) <= FOLDS and len(kinds) < len(logs):
            return [[k for k, value in enumerate(values) if value == kind] for kind in kinds]
    many = min(FOLDS, len(logs))
    return [list(range(first, len(logs), many)) for first in range(many)]


def _patch(
    bench: Bench,
    checked: Checked,
    objective: Objective,
    optimum: Optimum,
    posterior: Posterior,
    unknown: dict[str, Unknown],
    samples: dict[str, tuple[float, ...]],
    band: dict[str, PredictionBand],
    *,
    seed: int,
) -> TwinPatch:
    fitted = fitted_of(objective, posterior)
    simulated = objective.plant.simulate(objective.values(optimum.place))
    errors = held_against(objective.plant, simulated, {}).errors
    provenance = Provenance(
        twin=bench.name,
        twin_digest=bench.digest,
        logs={track.log.name: track.log.digest for track in objective.plant.tracks},
        residual={name: {"rmse": float(f"{e.rmse:.6g}"), "mae": float(f"{e.mae:.6g}")} for name, e in errors.items()},
        code=f"twinloop {__version__}",
        seed=seed,
    )
    notes = tuple(f"{finding.severity}: {finding}" for finding in checked.findings)
    return TwinPatch(
        fitted=fitted,
        unknown=unknown,
        samples=samples,
        spread={name: (-each.left, each.left) for name, each in band.items()},
        ranges=proposed_ranges(bench, fitted),
        provenance=provenance,
        notes=notes,
        swing=typical_swings(objective),
        drawn={name: each.drawn for name, each in band.items()},
    )


def proposed_ranges(bench: Bench, fitted: dict[str, Fitted]) -> dict[str, tuple[float, float]]:
    """Rows of the parameter table that a fit tells something of: from the lowest to the highest that the posterior
    holds for likely, over all joints, as far as the row goes."""
    ranges: dict[str, tuple[float, float]] = {}
    for name, found in fitted.items():
        knob = bench.knobs[name]
        if knob.row not in BY_NAME:
            continue
        row = BY_NAME[knob.row]
        ends = sorted((found.low * knob.row_scale, found.high * knob.row_scale))
        if row.plausible[0] >= 0 and ends[0] < 0:
            # A row of magnitudes: a bias to either side counts alike.
            ends = [0.0 if ends[1] > 0 else -ends[1], max(-ends[0], ends[1])]
        low, high = (float(np.clip(end, *row.plausible)) for end in ends)
        before = ranges.get(knob.row, (low, high))
        ranges[knob.row] = (min(low, before[0]), max(high, before[1]))
    return ranges
