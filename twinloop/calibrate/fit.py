"""From logs to a patch: choose what to look at, ask what can be known, search, and say how sure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from twinloop import __version__
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import Checked
from twinloop.calibrate.identify import beforehand, unidentified
from twinloop.calibrate.left_out import Group, Left, Refit, left_of, refit_without
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import Objective, robust_cost
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.calibrate.posterior import Posterior, fitted_of, left_over, posterior_of, samples_of
from twinloop.calibrate.profile import profiled
from twinloop.calibrate.replay import held_against, swing_of
from twinloop.calibrate.search import Optimum, coarse, downhill
from twinloop.errors import UsageError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.randomize.table import BY_NAME

BUDGET_STEPS = 24_000
"""Physics steps that one parameter set may cost: of more logs than that, evenly spaced ones are fitted on, and the
others show what is left."""
LONGEST_S = 20.0
COARSE_POINTS, COARSE_STEPS = 32, 6_000
STARTS = 2
ROUNDS = 24
WALKS, WALK_ROUNDS = 3, 8
FOLDS = 3
FOLD_ROUNDS = 3

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
    threads: int = 2,
    executor: Executor = LOCAL,
    workers: int = 1,
    told: Told | None = None,
) -> Fit:
    """Fit these knobs to the logs that passed the check.

    executor, workers: for what can be done side by side, the fits that leave logs out.
    """
    if not names:
        raise UsageError(f"{bench.path}: nothing to fit: name knobs with --fit, or under `fit` in the file")
    used, rest = divided(bench, checked.logs, BUDGET_STEPS)
    objective = Objective(bench, used, names, threads=threads)
    unknown = beforehand(objective, seed=seed)
    known = [name for name in names if name not in unknown]
    _refuse_if_nothing(known, unknown)
    if len(known) < len(names):
        objective = Objective(bench, used, known, threads=threads)
    found = _look_around(bench, used, known, seed=seed, threads=threads, told=told)
    optimum = _descend(objective, [objective.start, *found], ROUNDS, told)
    optimum, posterior = _settle(objective, optimum, told)
    while lost := unidentified(objective, posterior.information):
        # What turned out not to be known goes back to the bench's value, and the others are found again beside it.
        unknown |= lost
        stay = [k for k, name in enumerate(known) if name not in lost]
        known = [known[k] for k in stay]
        _refuse_if_nothing(known, unknown)
        objective = Objective(bench, used, known, threads=threads)
        optimum = _descend(objective, [optimum.place[stay]], ROUNDS // 2, told)
        optimum, posterior = _settle(objective, optimum, told)
    crew = partial(executor.run, workers=workers)
    spread = _spread(bench, objective, optimum, used, rest, threads=threads, crew=crew, told=told)
    patch = _patch(bench, checked, objective, optimum, posterior, unknown, spread, seed=seed)
    return Fit(patch, tuple(log.name for log in used), tuple(log.name for log in rest))


def _refuse_if_nothing(known: list[str], unknown: dict[str, Unknown]) -> None:
    if not known:
        told_why = "; ".join(f"{name}: {each.reason}" for name, each in unknown.items())
        raise UsageError(f"none of the asked parameters can be known from these logs: {told_why}")


def divided(bench: Bench, logs: Sequence[Log], steps: int) -> tuple[list[Log], list[Log]]:
    """Logs to fit on, cut to their first LONGEST_S, and the others. Evenly spaced, so that no kind is left out."""
    longest = int(LONGEST_S * bench.logs.rate_hz)
    cost = [min(len(log), longest) * bench.substeps for log in logs]
    many = max(1, min(len(logs), int(steps / max(np.mean(cost), 1))))
    chosen = set(np.unique(np.linspace(0, len(logs) - 1, many).astype(int)).tolist())
    used = [log.select(slice(0, longest)) for place, log in enumerate(logs) if place in chosen]
    return used, [log for place, log in enumerate(logs) if place not in chosen]


def _look_around(
    bench: Bench, logs: list[Log], names: list[str], *, seed: int, threads: int, told: Told | None
) -> list[np.ndarray]:
    """The best of a coarse look over the whole box, on few logs."""
    few, _ = divided(bench, logs, COARSE_STEPS)
    objective = Objective(bench, few, names, threads=threads)
    return coarse(objective, seed=seed, points=COARSE_POINTS, best=STARTS, told=_of(told, "looking around"))


def _descend(objective: Objective, starts: list[np.ndarray], rounds: int, told: Told | None) -> Optimum:
    """Downhill a little from every start, then all the way from where each block got lowest."""
    objective.rescale(objective.raw(starts[0])[0])
    reached = [downhill(objective, start, rounds=rounds // 3, told=_of(told, "fitting")) for start in starts]
    place = reached[0].place.copy()
    for block in objective.blocks:
        rows = objective.of_block(block)
        lowest = min(reached, key=lambda optimum: float(robust_cost(optimum.residual[rows])))
        place[block.knobs] = lowest.place[block.knobs]
    # What counts as large is judged anew once the worst is mended.
    objective.rescale(objective.raw(place)[0])
    return downhill(objective, place, rounds=rounds - rounds // 3, told=_of(told, "fitting closely"))


def _settle(objective: Objective, optimum: Optimum, told: Told | None) -> tuple[Optimum, Posterior]:
    """How sure, with walks along every knob; where a walk meets a better place, the search goes on from there."""
    turn = 1
    while True:
        posterior, better = profiled(objective, optimum, posterior_of(objective, optimum))
        if told is not None:
            told("walking along the knobs", turn, WALKS)
        if better is None or turn == WALKS:
            return optimum, posterior
        lower = downhill(objective, better, rounds=WALK_ROUNDS)
        if lower.cost >= optimum.cost:
            return optimum, posterior
        optimum, turn = lower, turn + 1


def _of(told: Told | None, doing: str) -> Callable[[int, int], None] | None:
    return None if told is None else lambda done, total: told(doing, done, total)


def _spread(
    bench: Bench,
    objective: Objective,
    optimum: Optimum,
    used: list[Log],
    rest: list[Log],
    *,
    threads: int,
    crew: Callable[..., Iterator[tuple[Group, Left]]],
    told: Told | None,
) -> dict[str, tuple[float, float]]:
    """What is left between twin and logs where the fit has not looked: on the logs it left out, or, where it used
    them all, on each third of them with the fit of the others."""
    names = objective.names
    typical = typical_swings(objective)
    if rest:
        few, _ = divided(bench, rest, BUDGET_STEPS)
        unseen = Objective(bench, few, names, threads=threads)
        left = left_of(unseen, unseen.raw(optimum.place)[0], typical)
    elif len(used) < 2:
        left = left_of(objective, optimum.residual * objective.scale[objective.channel_of], typical)
    else:
        groups = [tuple(out) for out in folds(used)]
        job = Refit(bench, tuple(used), names, optimum.place, objective.scale, typical, FOLD_ROUNDS, threads)
        found: dict[Group, Left] = {}
        for out, part in crew(refit_without, job, groups):
            found[out] = part
            if told is not None:
                told("leaving logs out", len(found), len(groups))
        # In their order, not in that in which they were done.
        left = {each.name: [rows for out in groups for rows in found[out][each.name]] for each in bench.compared}
    return {name: left_over(np.concatenate(rows)) for name, rows in left.items() if sum(map(len, rows))}


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
    spread: dict[str, tuple[float, float]],
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
    samples = samples_of(objective, posterior, seed=seed)
    ranges, swings = proposed_ranges(bench, fitted), typical_swings(objective)
    return TwinPatch(fitted, unknown, samples, spread, ranges, provenance, notes, swings)


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
