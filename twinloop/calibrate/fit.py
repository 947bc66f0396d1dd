"""Calibration of driven joints: choose logs, drop what they cannot determine, search, and quantify the uncertainty.

Where joints can be simulated one by one (loads.py), the search runs in the decoupled simulation, and the coupled one
confirms the result and gives all errors that are reported. Elsewhere the search runs in the coupled simulation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from twinloop import __version__
from twinloop.calibrate.bench import Bench
from twinloop.calibrate.check import Checked
from twinloop.calibrate.cross_validation import CrossValidation, cross_validate, simple_values, typical_swings
from twinloop.calibrate.delay_lag import DelayLag, delay_lag_rmse, driven_channels, fit_delay_lag
from twinloop.calibrate.identify import unidentifiable, unidentified
from twinloop.calibrate.loads import can_decouple
from twinloop.calibrate.objective import MIN_PRIOR_WEIGHT, Objective, robust_cost
from twinloop.calibrate.patch import (
    DIGITS,
    Fitted,
    FittedDrive,
    Provenance,
    SimpleModel,
    TwinPatch,
    Unknown,
    robot_digest,
)
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.posterior import (
    DRAWS,
    PRIOR,
    Posterior,
    autocorrelation_time,
    fitted_of,
    posterior_of,
    samples_of,
)
from twinloop.calibrate.profile import profiled
from twinloop.calibrate.replay import compare_with_logs
from twinloop.calibrate.search import Optimum, coarse, downhill
from twinloop.calibrate.selection import BUDGET_STEPS, DECOUPLED_STEPS, select_logs
from twinloop.calibrate.sweep import HERE, Where
from twinloop.calibrate.top_speed import speed_ceilings, with_speed_floor
from twinloop.calibrate.track import track_of
from twinloop.errors import UsageError
from twinloop.randomize.table import BY_NAME
from twinloop.simulate.drives import DRIVES
from twinloop.twin.robot_drive import KINDS, DriveKind

COARSE_POINTS, COARSE_STEPS = 32, 8_000
STARTS = 2
SCOUT_ROUNDS, ROUNDS = 8, 24
WALKS, WALK_ROUNDS = 3, 8
DISAGREEMENT = 1.3
"""If a coupled error exceeds the decoupled one by this factor, the joints are not independent: the fit is repeated in
the coupled simulation."""

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fit:
    """A patch, and the names of the logs that were used and left out."""

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
    on_progress: OnProgress | None = None,
    decoupled: bool | None = None,
) -> Fit:
    """Fit these variables to the logs that passed the check.

    Args:
        on_progress: called with (activity, done, total).
        decoupled: search with joints simulated one by one; None does so where it is possible.
    """
    if not names:
        raise UsageError(f"{bench.path}: nothing to fit: give fit variables with --fit, or under `fit` in the file")
    requested = bench
    bench = with_speed_floor(bench, [track_of(bench, log) for log in checked.logs])
    alone = can_decouple(bench, tuple(names)) if decoupled is None else decoupled
    steps = DECOUPLED_STEPS if alone else BUDGET_STEPS
    used, rest = select_logs(bench, checked.logs, steps, decoupled=alone)
    objective = Objective(bench, used, names, where=where, decoupled=alone)
    unknown = unidentifiable(objective, seed=seed)
    known = [name for name in names if name not in unknown]
    _refuse_if_nothing(known, unknown)
    if len(known) < len(names):
        objective = Objective(bench, used, known, where=where, decoupled=alone)
    simple = fit_delay_lag(bench, objective.plant.tracks)
    few, _ = select_logs(bench, used, COARSE_STEPS, decoupled=alone)
    scout = Objective(bench, few, known, where=where, decoupled=alone)
    starts = coarse(scout, seed=seed, points=COARSE_POINTS, best=STARTS, on_progress=_of(on_progress, "coarse search"))
    starts = [scout.start, *starts, *_simple_start(scout, simple)]
    optimum = _descend(objective, _lowest(scout, starts, on_progress), ROUNDS, on_progress)
    optimum, posterior = _settle(objective, optimum, on_progress)
    lost = unidentified(objective, posterior.information)
    while lost:
        # A variable that is not determined goes back to the value of the bench, and the others are fitted again.
        unknown |= lost
        stay = [k for k, name in enumerate(known) if name not in lost]
        known = [known[k] for k in stay]
        _refuse_if_nothing(known, unknown)
        objective = Objective(bench, used, known, where=where, decoupled=alone)
        optimum = _descend(objective, optimum.place[stay], ROUNDS // 2, on_progress)
        # The slopes are checked first, because profiles are expensive and do not determine more variables.
        lost = unidentified(objective, posterior_of(objective, optimum).information)
        if not lost:
            optimum, posterior = _settle(objective, optimum, on_progress, walks=1)
            lost = unidentified(objective, posterior.information)
    if alone and _disagrees(objective, optimum):
        return calibrate(requested, checked, names, seed=seed, where=where, on_progress=on_progress, decoupled=False)
    samples = samples_of(objective, posterior, seed=seed)
    if on_progress is not None:
        on_progress("cross-validation", 0, 1)
    drawn = np.stack([samples[name] for name in known], axis=1)
    validation = cross_validate(objective, optimum, drawn, used, rest)
    patch = _patch(checked, objective, posterior, unknown, samples, simple, validation, seed=seed)
    return Fit(patch, tuple(dict.fromkeys(log.name for log in used)), tuple(log.name for log in rest))


def _refuse_if_nothing(known: list[str], unknown: dict[str, Unknown]) -> None:
    if not known:
        reasons = "; ".join(f"{name}: {missing.reason}" for name, missing in unknown.items())
        raise UsageError(f"none of the requested parameters can be determined from these logs: {reasons}")


def _simple_start(objective: Objective, models: dict[str, DelayLag]) -> list[np.ndarray]:
    """A starting point with the delay and lag of the simple model, if the servo has a braking term for the lag."""
    start, names = objective.start, objective.names
    for channel in driven_channels(objective.bench):
        delay, braking = (f"{channel.joint}.{name}" for name in ("delay_ms", "braking_nms_rad"))
        stiffness = f"{channel.joint}.stiffness_nm_rad"
        if braking not in names or stiffness not in objective.bench.variables:
            return []
        model = models[channel.name]
        values = {braking: objective.bench.variables[stiffness].value * model.lag_s, delay: 1000 * model.delay_s}
        for name, value in values.items():
            if name in names:
                variable = objective.bench.variables[name]
                start[names.index(name)] = float(variable.inward(np.clip(value, variable.low, variable.high)))
    return [start] if objective.bench.drive is not None else []


def _lowest(scout: Objective, starts: list[np.ndarray], on_progress: OnProgress | None) -> np.ndarray:
    """A short search from every start, on few logs. Returns the best result of each block."""
    scout.rescale(scout.raw(starts[0])[0])
    reached = [
        downhill(scout, start, rounds=SCOUT_ROUNDS, on_progress=_of(on_progress, "trying starts")) for start in starts
    ]
    place = reached[0].place.copy()
    for block in scout.blocks:
        rows = scout.of_block(block)
        lowest = min(reached, key=lambda optimum: float(robust_cost(optimum.residual[rows])))
        place[block.variables] = lowest.place[block.variables]
    return place


def _descend(objective: Objective, place: np.ndarray, rounds: int, on_progress: OnProgress | None) -> Optimum:
    """Downhill in two parts. After the first, the scale of the residuals and the weight of the bench's own values are
    set from the residuals: correlated residuals weigh less."""
    objective.rescale(objective.raw(place)[0])
    objective.prior_weight = MIN_PRIOR_WEIGHT
    optimum = downhill(objective, place, rounds=rounds // 3, on_progress=_of(on_progress, "fitting"))
    raw = optimum.residual * objective.scale[objective.channel_of]
    objective.rescale(raw)
    objective.prior_weight = PRIOR * autocorrelation_time(objective, raw / objective.scale[objective.channel_of])
    return downhill(objective, optimum.place, rounds=rounds - rounds // 3, on_progress=_of(on_progress, "refining"))


def _settle(
    objective: Objective, optimum: Optimum, on_progress: OnProgress | None, *, walks: int = WALKS
) -> tuple[Optimum, Posterior]:
    """The posterior with profiles of all variables. Where a profile finds a lower cost, the search goes on there."""
    turn = 1
    while True:
        posterior, better = profiled(objective, optimum, posterior_of(objective, optimum))
        if on_progress is not None:
            on_progress("profiles", turn, walks)
        if better is None or turn == walks:
            return optimum, posterior
        lower = downhill(objective, better, rounds=WALK_ROUNDS)
        if lower.cost >= optimum.cost:
            return optimum, posterior
        optimum, turn = lower, turn + 1


def _of(on_progress: OnProgress | None, doing: str) -> Callable[[int, int], None] | None:
    return None if on_progress is None else lambda done, total: on_progress(doing, done, total)


def _disagrees(objective: Objective, optimum: Optimum) -> bool:
    """Whether the coupled simulation is far from the logs where the decoupled one is near."""
    bench, logs = objective.bench, [track.log for track in objective.plant.tracks]
    coupled = Objective(bench, logs, objective.names, where=objective.where, decoupled=False)
    both = [simulated.raw(optimum.place)[0] for simulated in (objective, coupled)]
    for number in range(len(bench.compared)):
        own, full = (np.sqrt(np.mean(raw[objective.channel_of == number] ** 2)) for raw in both)
        if full > DISAGREEMENT * max(float(own), float(objective.scale[number])):
            return True
    return False


def _patch(
    checked: Checked,
    objective: Objective,
    posterior: Posterior,
    unknown: dict[str, Unknown],
    samples: dict[str, tuple[float, ...]],
    simple: dict[str, DelayLag],
    validation: CrossValidation,
    *,
    seed: int,
) -> TwinPatch:
    bench, tracks = objective.bench, objective.plant.tracks
    fitted = fitted_of(objective, posterior)
    notes = [f"{finding.severity}: {finding}" for finding in checked.findings]
    if len({track.log.name for track in tracks}) == 1:
        notes.append("warning: one log does not show how the next one differs: the 90 % band is too narrow; log again")
    for joint, channel in validation.simple_joints.items():
        values = simple_values(bench, simple, [channel])
        others = {name: estimate for name, estimate in fitted.items() if name.rpartition(".")[0] != joint}
        fitted = others | {
            name: Fitted(value, value, value, bench.variables[name].unit) for name, value in values.items()
        }
        unknown = {name: estimate for name, estimate in unknown.items() if name.rpartition(".")[0] != joint}
        samples = {name: drawn for name, drawn in samples.items() if name in others}
        samples |= {name: (value,) * DRAWS for name, value in values.items()}
        notes.append(
            f"note: {joint}: a delay and a lag predict held-out logs better than the servo model: used instead"
        )
    # Errors are those of the values as they are written, so that a replay gives the same.
    fitted = {name: replace(estimate, value=rounded(estimate.value)) for name, estimate in fitted.items()}
    values = {name: estimate.value for name, estimate in fitted.items()}
    notes += [f"warning: {message}" for message in speed_ceilings(bench, tracks, values)]
    plant = BenchSimulator(bench, [track.log for track in tracks], tuple(values), where=objective.where)
    errors = compare_with_logs(plant, plant.simulate(np.array([list(values.values())])), {}).errors
    provenance = Provenance(
        twin=bench.name,
        twin_digest=bench.digest,
        logs={track.log.name: track.log.digest for track in tracks},
        residual={name: {"rmse": float(f"{e.rmse:.9g}"), "mae": float(f"{e.mae:.9g}")} for name, e in errors.items()},
        code=f"twinloop {__version__}",
        seed=seed,
    )
    bands = validation.bands()
    simple_ranges = [name for joint in validation.simple_joints for name in fitted if name.startswith(joint + ".")]
    ranges_of = {
        name: estimate for name, estimate in fitted.items() if name not in simple_ranges or name.endswith(".delay_ms")
    }
    return TwinPatch(
        fitted=fitted,
        unknown=unknown,
        samples=samples,
        spread={name: (-band.left, band.left) for name, band in bands.items()},
        # The ranges of a robot are those of its joints.
        ranges=proposed_ranges(bench, ranges_of) if bench.robot is None else {},
        drive=fitted_drive(bench, values),
        provenance=provenance,
        notes=tuple(notes),
        swing=typical_swings(objective),
        drawn={name: band.drawn for name, band in bands.items()},
        effort={name: band.effort for name, band in bands.items()},
        delay_lag={
            channel.name: SimpleModel(
                delay_ms=1000 * simple[channel.name].delay_s,
                lag_ms=1000 * simple[channel.name].lag_s,
                rmse=delay_lag_rmse(bench, channel, tracks, simple[channel.name]),
                held_out_rmse=validation.simple_rmse.get(channel.name, 0.0),
                twin_held_out_rmse=validation.rmse(channel.name),
            )
            for channel in driven_channels(bench)
        },
    )


def fitted_drive(bench: Bench, values: dict[str, float]) -> FittedDrive | None:
    """Nominal values of every joint; None for a bench that is no robot, or whose drive a twin cannot have."""
    drive = bench.drive
    if bench.robot is None or drive is None or drive.model not in KINDS:
        return None
    if any(constant for constant, _ in drive.inputs.values()):
        return None  # an input of each log has no one value
    inputs = {name: number for name, (_, number) in drive.inputs.items()}
    joints = {
        joint: {
            variable.name: rounded(values.get(full, bench.variables[full].value))
            for variable in DRIVES[drive.model].variables
            for full in [f"{joint}.{variable.name}"]
        }
        | inputs
        for joint in drive.joints
    }
    return FittedDrive(cast(DriveKind, drive.model), joints, bench.robot.name, robot_digest(bench.robot))


def rounded(value: float) -> float:
    """With as many digits as a patch has."""
    return float(f"{value:.{DIGITS}g}")


def proposed_ranges(bench: Bench, fitted: dict[str, Fitted]) -> dict[str, tuple[float, float]]:
    """Row of the parameter table -> the union of the 90 % intervals of all joints, within the row's plausible range."""
    ranges: dict[str, tuple[float, float]] = {}
    for name, estimate in fitted.items():
        variable = bench.variables[name]
        if variable.row not in BY_NAME:
            continue
        row = BY_NAME[variable.row]
        ends = sorted((estimate.low * variable.row_scale, estimate.high * variable.row_scale))
        if row.plausible[0] >= 0 and ends[0] < 0:
            # The row is a magnitude, so both signs of a bias count alike.
            ends = [0.0 if ends[1] > 0 else -ends[1], max(-ends[0], ends[1])]
        low, high = (float(np.clip(end, *row.plausible)) for end in ends)
        before = ranges.get(variable.row, (low, high))
        ranges[variable.row] = (min(low, before[0]), max(high, before[1]))
    return ranges
