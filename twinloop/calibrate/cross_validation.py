"""Errors of a fit on logs that it did not use, beside those of the simple model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from twinloop.calibrate.band import HeldOutError, PredictionBand, effort_of, fit_band, reach_of, swing_factor
from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.delay_lag import DelayLag, delay_lag_rmse, driven_channels, fit_delay_lag
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import Objective
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.posterior import posterior_of, samples_of
from twinloop.calibrate.replay import difference, swing_of
from twinloop.calibrate.search import Optimum, downhill
from twinloop.calibrate.selection import folds
from twinloop.simulate.drives import DRIVES

FOLD_ROUNDS = 6
ALONE = 2.0
"""The errors of one log on its own fit say little about the next log: its band is wider by this factor."""


@dataclass(frozen=True)
class Fold:
    """Logs that were left out, the fit of the others, and the simple models and the posterior's draws of the others."""

    plant: BenchSimulator
    place: np.ndarray
    simple: dict[str, DelayLag]
    samples: np.ndarray


@dataclass(frozen=True)
class CrossValidation:
    """Errors on held-out logs.

    Attributes:
        errors: channel -> errors of the twin, log by log.
        simple_rmse: channel -> RMSE of the simple model.
        wider: factor for the bands.
        simple_joints: joint -> channel, where the simple model predicts better than the fitted servo.
    """

    errors: dict[str, list[HeldOutError]]
    simple_rmse: dict[str, float] = field(default_factory=dict)
    wider: float = 1.0
    simple_joints: dict[str, str] = field(default_factory=dict)

    def rmse(self, channel: str) -> float:
        off = np.concatenate([error.off.ravel() for error in self.errors[channel]])
        return float(np.sqrt(np.nanmean(off**2)))

    def bands(self) -> dict[str, PredictionBand]:
        return {name: fit_band(errors, wider=self.wider) for name, errors in self.errors.items()}


def cross_validate(
    objective: Objective, optimum: Optimum, samples: np.ndarray, used: Sequence[Log], rest: Sequence[Log]
) -> CrossValidation:
    """Leave groups of logs out in turn, fit the others again from the optimum, and simulate those left out.

    A coupled fit that left logs unused takes these instead, since fitting again is expensive. The twin's errors are
    always those of the coupled simulation.

    Args:
        samples: values of the posterior's draws.
    """
    bench, where = objective.bench, objective.where
    typical = typical_swings(objective)
    errors: dict[str, list[HeldOutError]] = {channel.name: [] for channel in bench.compared}
    if len({log.name for log in used}) < 2 or (rest and not objective.plant.decoupled):
        held_out = rest or used
        fold = Fold(BenchSimulator(bench, held_out, objective.names, where=where), optimum.place, {}, samples)
        _add_errors(errors, objective, fold, {}, samples, typical)
        return CrossValidation(errors, wider=1.0 if rest else ALONE)
    done = [_fit_fold(objective, optimum, used, out) for out in folds(used)]
    for fold in done:
        _add_errors(errors, objective, fold, {}, samples, typical)
    result = CrossValidation(errors, _simple_rmse(bench, done))
    worse = {
        channel.joint: channel.name
        for channel in driven_channels(bench)
        if result.rmse(channel.name) > result.simple_rmse[channel.name]
    }
    return _with_simple_joints(objective, done, result, worse, samples, typical) if worse else result


def _fit_fold(objective: Objective, optimum: Optimum, used: Sequence[Log], out: list[int]) -> Fold:
    bench, where = objective.bench, objective.where
    others = Objective(
        bench,
        [log for k, log in enumerate(used) if k not in out],
        objective.names,
        where=where,
        decoupled=objective.plant.decoupled,
    )
    others.scale, others.prior_weight = objective.scale.copy(), objective.prior_weight
    refit = downhill(others, optimum.place, rounds=FOLD_ROUNDS)
    plant = BenchSimulator(bench, [used[k] for k in out], objective.names, where=where)
    draws = samples_of(others, posterior_of(others, refit), seed=0)
    samples = np.stack([draws[name] for name in objective.names], axis=1)
    return Fold(plant, refit.place, fit_delay_lag(bench, others.plant.tracks), samples)


def simple_values(bench: Bench, models: Mapping[str, DelayLag], channels: Sequence[str]) -> dict[str, float]:
    """Values of the servo model that make these channels a delay and a lag, by full name; empty if it cannot."""
    values: dict[str, float] = {}
    for channel in driven_channels(bench):
        if channel.name in channels and bench.drive is not None:
            prefix, model = f"{channel.joint}.", models[channel.name]
            own = {
                name.removeprefix(prefix): variable
                for name, variable in bench.variables.items()
                if name.startswith(prefix)
            }
            settings = DRIVES[bench.drive.model].as_delay_and_lag(own, model.delay_s, model.lag_s) or {}
            values |= {prefix + name: value for name, value in settings.items()}
    return values


def _add_errors(
    errors: dict[str, list[HeldOutError]],
    objective: Objective,
    fold: Fold,
    special: Mapping[str, float],
    samples: np.ndarray,
    typical: Mapping[str, float],
) -> None:
    bench = objective.bench
    best = objective.values(fold.place)
    plant, logs = fold.plant, [track.log for track in fold.plant.tracks]
    if special:
        names = tuple(dict.fromkeys((*objective.names, *special)))
        values = {**dict(zip(objective.names, best[0], strict=True)), **special}
        plant = BenchSimulator(bench, logs, names, where=objective.where)
        simulated = plant.simulate(np.array([[values[name] for name in names]]))
    else:
        simulated = plant.simulate(best)
    spread = simulated
    # Coupled simulations are expensive: half of the draws of each posterior will do.
    every = 1 if objective.plant.decoupled else 2
    final, own = samples[::every], fold.samples[::every]
    if not special:
        draws = BenchSimulator(bench, logs, objective.names, where=objective.where, decoupled=objective.plant.decoupled)
        spread = draws.simulate(np.concatenate([best, final, own]))
    for channel in bench.compared:
        for place, track in enumerate(plant.tracks):
            measured = track.measured[channel.name]
            rows = simulated[channel.name][0, place, : track.frames]
            errors[channel.name].append(
                HeldOutError(
                    difference(channel, rows, measured),
                    swing_factor(swing_of(channel, measured), typical[channel.name]),
                    effort_of(bench, channel, track, rows),
                    _spread(channel, spread[channel.name][:, place, : track.frames], len(final)),
                )
            )


def _spread(channel: ChannelMap, rows: np.ndarray, draws: int) -> np.ndarray:
    """(frames, elements) what the errors of a fold are compared with: the geometric mean of two spreads of draws.

    The errors are those of a fit to fewer logs than the final fit has. Its own spread alone would make the band of the
    final fit too narrow, and the spread of the final fit alone too wide.

    Args:
        rows: those of the fold's fit, of `draws` draws of the final posterior, and of the fold's posterior.
    """
    final, own = np.concatenate([rows[:1], rows[1 : 1 + draws]]), np.concatenate([rows[:1], rows[1 + draws :]])
    return np.sqrt(reach_of(channel, final) * reach_of(channel, own))


def _simple_rmse(bench: Bench, done: Sequence[Fold]) -> dict[str, float]:
    rmse = {}
    for channel in driven_channels(bench):
        squares = [
            (delay_lag_rmse(bench, channel, [track], fold.simple[channel.name]), track.frames)
            for fold in done
            for track in fold.plant.tracks
        ]
        rmse[channel.name] = float(np.sqrt(np.average([r**2 for r, _ in squares], weights=[n for _, n in squares])))
    return rmse


def _with_simple_joints(
    objective: Objective,
    done: Sequence[Fold],
    result: CrossValidation,
    worse: Mapping[str, str],
    samples: np.ndarray,
    typical: Mapping[str, float],
) -> CrossValidation:
    """The servo set to a delay and a lag for the joints where that predicts held-out logs better."""
    errors: dict[str, list[HeldOutError]] = {channel.name: [] for channel in objective.bench.compared}
    for fold in done:
        special = simple_values(objective.bench, fold.simple, tuple(worse.values()))
        if not special:
            return result
        _add_errors(errors, objective, fold, special, samples, typical)
    simple = replace(result, errors=errors)
    better = {joint: name for joint, name in worse.items() if simple.rmse(name) < result.rmse(name)}
    mixed = {name: errors[name] if name in better.values() else own for name, own in result.errors.items()}
    return replace(result, errors=mixed, simple_joints=better)


def typical_swings(objective: Objective) -> dict[str, float]:
    """Channel -> range of motion in the logs of the fit, in the log's unit."""
    return {
        channel.name: float(
            np.mean([swing_of(channel, track.measured[channel.name]) for track in objective.plant.tracks])
        )
        for channel in objective.bench.compared
    }
