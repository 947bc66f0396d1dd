"""The posterior of a fit: a normal distribution with corrections.

Near the optimum the likelihood is taken as normal (Laplace). Residuals of neighbouring frames are correlated, so each
counts for less. Where logs disagree about a fit variable, its spread grows to what they disagree by (a sandwich
estimate over logs). The error of the first measured position, where a simulation begins, is part of the spread too.
"""

from dataclasses import dataclass, replace

import numpy as np

from twinloop.calibrate.band import TAIL
from twinloop.calibrate.identify import noise_floors
from twinloop.calibrate.objective import Objective, robust_weight
from twinloop.calibrate.patch import Fitted
from twinloop.calibrate.search import Optimum
from twinloop.calibrate.track import places_of

DRAWS = 24
"""Parameter sets of the posterior that a patch keeps, and that a band is made of."""
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
    shaken = Objective(bench, moved, objective.names, where=objective.where, decoupled=objective.plant.decoupled)
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
