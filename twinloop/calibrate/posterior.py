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
"""Draws of the posterior that a patch keeps and that a band uses."""
FEW_LOGS = 5
PRIOR = 12.0
"""Information of the prior: a place that is uniform from 0 to 1 has a variance of 1/12."""


@dataclass(frozen=True)
class Posterior:
    """A normal distribution of places (0 to 1 over a variable's bounds), cut at the bounds.

    Attributes:
        information: information matrix of the logs alone, without the prior.
        low, high: ends of the 90 % intervals; profiles may put them further out than the normal distribution.
        temper: cost of the objective per variance, for each variable.
    """

    names: tuple[str, ...]
    place: np.ndarray
    covariance: np.ndarray
    information: np.ndarray
    low: np.ndarray
    high: np.ndarray
    temper: np.ndarray


def posterior_of(objective: Objective, optimum: Optimum) -> Posterior:
    """The posterior from the slopes at the optimum."""
    weight, slope = robust_weight(optimum.residual), optimum.jacobian
    curve = (slope * weight[:, None]).T @ slope
    # Variance of a residual, and the number of correlated neighbours.
    variance = float(np.mean(weight * optimum.residual**2)) or 1.0
    memory = autocorrelation_time(objective, optimum.residual)
    fisher = curve / (variance * memory)
    count = len(objective.names)
    prior = PRIOR * np.eye(count)
    covariance = np.linalg.inv(fisher + prior)
    bread = np.linalg.inv(curve + variance * memory * prior)
    logs = len(objective.plant.tracks)
    spread = np.diag(covariance) + np.diag(
        bread @ _scatter(objective, slope, weight * _start_errors(objective, optimum)) @ bread
    )
    if logs >= FEW_LOGS:
        # Scatter among few logs is uncertain: the factor of a t distribution with logs - 1 degrees of freedom.
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
    """Sum over logs of the outer product of their scores."""
    score = slope * weighted[:, None]
    by_log = np.stack([score[objective.log_of == log].sum(axis=0) for log in range(len(objective.plant.tracks))])
    return by_log.T @ by_log


def _start_errors(objective: Objective, optimum: Optimum) -> np.ndarray:
    """Change of the residuals if every log began one sensor error away from its first measured position."""
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


def autocorrelation_time(objective: Objective, residual: np.ndarray) -> float:
    """Integrated autocorrelation time of the residuals in frames, the mean over logs and channels."""
    times = []
    for log in range(len(objective.plant.tracks)):
        for channel in range(len(objective.scale)):
            rows = residual[(objective.log_of == log) & (objective.channel_of == channel)]
            if len(rows) < 20 or rows.std() == 0:
                continue
            # About zero, not about the mean: a constant offset is the longest correlation.
            power = np.abs(np.fft.rfft(rows, 2 * len(rows))) ** 2
            correlation = np.fft.irfft(power)[: len(rows)]
            correlation = correlation / correlation[0]
            negative = np.flatnonzero(correlation < 0.05)
            end = int(negative[0]) if len(negative) else len(rows)
            times.append(1 + 2 * float(correlation[1:end].sum()))
    return max(1.0, float(np.mean(times))) if times else 1.0


def fitted_of(objective: Objective, posterior: Posterior) -> dict[str, Fitted]:
    """Values and intervals of all variables."""
    fitted = {}
    for place, (name, variable) in enumerate(zip(posterior.names, objective.variables, strict=True)):
        low, high = np.clip([posterior.low[place], posterior.high[place]], 0, 1)
        value, bottom, top = (float(variable.outward(np.array(at))) for at in (posterior.place[place], low, high))
        fitted[name] = Fitted(value, bottom, top, variable.unit)
    return fitted


def samples_of(objective: Objective, posterior: Posterior, *, seed: int) -> dict[str, tuple[float, ...]]:
    """Draws of the posterior."""
    rng = np.random.default_rng(seed)
    places = np.clip(rng.multivariate_normal(posterior.place, posterior.covariance, DRAWS, method="eigh"), 0, 1)
    values = objective.values(places)
    return {name: tuple(map(float, values[:, k])) for k, name in enumerate(posterior.names)}
