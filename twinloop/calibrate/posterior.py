"""What is known after a fit, as a distribution, and what that predicts: bands around a replay.

Near its best place the likelihood is taken as normal (Laplace). Residuals of neighbouring frames are not independent,
so each counts for less; where the logs disagree with each other about a knob, its spread grows to what they disagree
by (a sandwich over logs); and that recordings begin a sensor's error away from where they say is part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.identify import noise_floors
from twinloop.calibrate.logs import Log
from twinloop.calibrate.objective import Objective, robust_weight
from twinloop.calibrate.patch import Fitted, TwinPatch
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import Replay, difference, held_against, swing_of
from twinloop.calibrate.search import Optimum
from twinloop.calibrate.sweep import HERE, Where
from twinloop.calibrate.track import places_of

DRAWS = 24
"""Parameter sets of the posterior that a patch keeps, and that a band is made of."""
TAIL = 1.645
"""Standard deviations from the middle to the 95th percentile."""
FEW_LOGS = 5
PRIOR = 12.0
"""Information of knowing only the bounds: a place that is uniform from 0 to 1 has a variance of 1/12."""


@dataclass(frozen=True)
class Posterior:
    """Normal in places (0 to 1 over a knob's bounds), cut at the bounds. `information`: what the logs alone say.
    `low` and `high` hold 90 %, and may lie further out than the normal says. `temper`: what a knob's variance costs in
    the objective's cost, a number a knob."""

    names: tuple[str, ...]
    place: np.ndarray
    covariance: np.ndarray
    information: np.ndarray
    low: np.ndarray
    high: np.ndarray
    temper: np.ndarray


def posterior_of(objective: Objective, optimum: Optimum) -> Posterior:
    weight, slope = robust_weight(optimum.residual), optimum.jacobian
    curve = (slope * weight[:, None]).T @ slope
    # Variance of a residual, and how many neighbours say the same.
    variance = float(np.mean(weight * optimum.residual**2)) or 1.0
    memory = memory_of(objective, optimum.residual)
    fisher = curve / (variance * memory)
    many = len(objective.names)
    prior = PRIOR * np.eye(many)
    covariance = np.linalg.inv(fisher + prior)
    bread = np.linalg.inv(curve + variance * memory * prior)
    logs = len(objective.plant.tracks)
    spread = np.diag(covariance) + np.diag(
        bread @ _scatter(objective, slope, weight * _shaken(objective, optimum)) @ bread
    )
    if logs >= FEW_LOGS:
        # Few logs tell their own scatter badly: the factor of a t distribution with logs - 1 degrees of freedom.
        unsure = (1 + (TAIL**2 + 1) / (4 * (logs - 1))) ** 2 * logs / (logs - 1)
        among = np.diag(bread @ _scatter(objective, slope, weight * optimum.residual) @ bread) * unsure
        spread = np.maximum(spread, among)
    wider = np.sqrt(np.maximum(spread / np.diag(covariance), 1.0))
    fisher = fisher / np.outer(wider, wider)
    covariance = np.linalg.inv(fisher + prior)
    std = TAIL * np.sqrt(np.diag(covariance))
    temper = np.diag(covariance) / np.diag(bread)
    place = optimum.place
    return Posterior(objective.names, place, covariance, fisher, place - std, place + std, temper)


def _scatter(objective: Objective, slope: np.ndarray, weighted: np.ndarray) -> np.ndarray:
    """Sum over logs of what each pulls at the knobs, squared."""
    score = slope * weighted[:, None]
    by_log = np.stack([score[objective.log_of == log].sum(axis=0) for log in range(len(objective.plant.tracks))])
    return by_log.T @ by_log


def _shaken(objective: Objective, optimum: Optimum) -> np.ndarray:
    """How residuals change if recordings had begun a sensor's error away from where they say: one number too few for
    every log, which a fit cannot know of and which stays in all that follows."""
    bench, noise = objective.bench, noise_floors(objective)
    moved = []
    for track in objective.plant.tracks:
        columns = {name: column.copy() for name, column in track.log.columns.items()}
        log = replace(track.log, columns=columns)
        for number, channel in enumerate(bench.compared):
            if channel.of == "position":
                columns[channel.column][0, places_of(log, channel)] += noise[number]
        moved.append(log)
    shaken = Objective(bench, moved, objective.names, where=objective.where)
    shaken.scale = objective.scale
    if len(shaken.channel_of) != len(objective.channel_of):
        return np.zeros_like(optimum.residual)
    return shaken.residuals(optimum.place)[0] - optimum.residual


def memory_of(objective: Objective, residual: np.ndarray) -> float:
    """How many residuals in a row say the same: the integrated autocorrelation time, the mean over logs."""
    times = []
    for log in range(len(objective.plant.tracks)):
        for channel in range(len(objective.scale)):
            rows = residual[(objective.log_of == log) & (objective.channel_of == channel)]
            if len(rows) < 20 or rows.std() == 0:
                continue
            # About zero, not about their mean: an offset that stays is the longest memory of all.
            power = np.abs(np.fft.rfft(rows, 2 * len(rows))) ** 2
            correlation = np.fft.irfft(power)[: len(rows)]
            correlation = correlation / correlation[0]
            negative = np.flatnonzero(correlation < 0.05)
            end = int(negative[0]) if len(negative) else len(rows)
            times.append(1 + 2 * float(correlation[1:end].sum()))
    return max(1.0, float(np.mean(times))) if times else 1.0


def fitted_of(objective: Objective, posterior: Posterior) -> dict[str, Fitted]:
    found = {}
    for place, (name, knob) in enumerate(zip(posterior.names, objective.knobs, strict=True)):
        low, high = np.clip([posterior.low[place], posterior.high[place]], 0, 1)
        value, bottom, top = (float(knob.outward(np.array(at))) for at in (posterior.place[place], low, high))
        found[name] = Fitted(value, bottom, top, knob.unit)
    return found


def samples_of(objective: Objective, posterior: Posterior, *, seed: int) -> dict[str, tuple[float, ...]]:
    rng = np.random.default_rng(seed)
    places = np.clip(rng.multivariate_normal(posterior.place, posterior.covariance, DRAWS, method="eigh"), 0, 1)
    values = objective.values(places)
    return {name: tuple(map(float, values[:, k])) for k, name in enumerate(posterior.names)}


@dataclass(frozen=True)
class Left:
    """What a twin missed of one log that it had not seen: (frames, elements) by how much, how far the log swings, as
    `swing_factor` tells, and how far the posterior's draws are apart."""

    off: np.ndarray
    far: float
    drawn: np.ndarray


@dataclass(frozen=True)
class PredictionBand:
    """Half the width of a band: the root of (left · swing factor)² + (drawn · reach of the draws)²."""

    left: float
    drawn: float


def band_of(missed: Sequence[Left], *, wider: float = 1.0) -> PredictionBand:
    """The band that holds 90 % of what was missed. To either side alike: which way a twin errs in logs that were left
    out says little of the next ones. What was missed says how wide it is, the draws only where it is wider: were they
    all of it, a posterior that is too sure or not sure enough would be believed."""
    off = np.concatenate([np.abs(each.off).ravel() for each in missed])
    far = np.concatenate([np.full(each.off.size, each.far) for each in missed])
    drawn = np.concatenate([each.drawn.ravel() for each in missed])
    known = np.isfinite(off)
    off, far, drawn = off[known], far[known], drawn[known]
    if not len(off):
        return PredictionBand(0.0, 1.0)
    left = float(np.quantile(off / far, 0.9))
    share = float(np.quantile(off / np.maximum(np.hypot(left * far, drawn), 1e-12), 0.9)) * wider
    return PredictionBand(left * share, share)


def swing_factor(swing: float, typical: float | None) -> float:
    """What a twin misses grows with how far things move, but less: with the root of it, by a factor of two at most."""
    return 1.0 if typical is None else float(np.clip(np.sqrt(swing / typical), 0.5, 2.0))


def reach_of(channel: ChannelMap, rows: np.ndarray) -> np.ndarray:
    """(frames, elements) how far nine of ten draws, rows[1:], are from the best, rows[0]: in the log's unit, of a turn
    in degrees about each axis."""
    width = 3 if channel.of == "turn" else rows.shape[-1]
    if len(rows) < 2:
        return np.zeros((rows.shape[1], width))
    if channel.of == "turn":
        return TAIL * np.sqrt(np.mean(difference(channel, rows[1:], rows[0]) ** 2, axis=0))
    return TAIL * (rows[1:] / channel.scale).std(axis=0)


def replay_with_band(bench: Bench, logs: Sequence[Log], patch: TwinPatch, *, where: Where = HERE) -> Replay:
    """A replay at the patch's values, with the 90 % band of what the twin then expects to be measured.

    The band is what was left between twin and logs where the fit had not looked, widened where the posterior's draws
    spread.
    """
    names = tuple(patch.values)
    plant = BenchSimulator(bench, logs, names, where=where)
    draws = min((len(values) for values in patch.samples.values()), default=0)
    sets = [[patch.values[name] for name in names]]
    for draw in range(draws):
        sets.append([patch.samples[name][draw] if name in patch.samples else patch.values[name] for name in names])
    simulated = plant.simulate(np.array(sets))
    found = held_against(plant, simulated, patch.values)
    coverage, traces = {}, list(found.traces)
    for channel in bench.compared:
        if channel.name not in patch.spread:
            continue
        low, high = patch.spread[channel.name]
        inside = []
        for place, track in enumerate(plant.tracks):
            rows = simulated[channel.name][:, place, : track.frames]
            drawn = patch.drawn.get(channel.name, 1.0) * reach_of(channel, rows)
            far = swing_factor(swing_of(channel, rows[0]), patch.swing.get(channel.name))
            below, above = np.hypot(far * low, drawn), np.hypot(far * high, drawn)
            off = -difference(channel, rows[0], track.measured[channel.name])
            known = np.isfinite(off).all(axis=-1)
            inside.append(((off >= -below) & (off <= above))[known])
            if channel.of == "turn":
                continue  # a band about a quaternion has no lower and upper end
            centre = (rows[0] - channel.offset) / channel.scale
            traces[place] = replace(
                traces[place],
                low={**traces[place].low, channel.name: centre - below},
                high={**traces[place].high, channel.name: centre + above},
            )
        coverage[channel.name] = float(np.concatenate(inside).mean())
    return replace(found, coverage=coverage, traces=tuple(traces))
