"""Distributions: how a value varies from episode to episode.

An argument of a distribution may itself be a distribution (a friction whose mean differs from batch to
batch), so they form a small algebra. Sampling is by inverse transform: a point u of the unit interval in, a
value out. One u per distribution makes episode i's value a function of i alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from scipy import stats

Unit = Callable[[], np.ndarray]
"""Gives the next (n,) points of the unit interval: one call for each distribution of a nested one."""


@dataclass(frozen=True)
class Distribution:
    def sample(self, unit: Unit) -> np.ndarray:
        """(n,) values for the next (n,) points of the unit interval."""
        u = unit()
        return self._inverse(u, *(_value(getattr(self, field.name), unit) for field in fields(self)))

    def support(self) -> tuple[float, float]:
        """The lowest and highest value that may be drawn (for unbounded ones: four deviations out)."""
        raise NotImplementedError

    def _inverse(self, u: np.ndarray, *arguments) -> np.ndarray:
        raise NotImplementedError


Argument = float | Distribution


def _value(argument, unit: Unit):
    return argument.sample(unit) if isinstance(argument, Distribution) else argument


def _span(argument: Argument) -> tuple[float, float]:
    return argument.support() if isinstance(argument, Distribution) else (argument, argument)


@dataclass(frozen=True)
class Constant(Distribution):
    value: Argument

    def _inverse(self, u, value):
        return np.full_like(u, value)

    def support(self):
        return _span(self.value)


@dataclass(frozen=True)
class Uniform(Distribution):
    low: Argument
    high: Argument

    def _inverse(self, u, low, high):
        return low + u * (high - low)

    def support(self):
        return _span(self.low)[0], _span(self.high)[1]


@dataclass(frozen=True)
class LogUniform(Distribution):
    low: Argument
    high: Argument

    def _inverse(self, u, low, high):
        return low * (high / low) ** u

    def support(self):
        return _span(self.low)[0], _span(self.high)[1]


@dataclass(frozen=True)
class Normal(Distribution):
    mean: Argument
    std: Argument

    def _inverse(self, u, mean, std):
        return mean + std * stats.norm.ppf(u)

    def support(self):
        reach = 4 * _span(self.std)[1]
        low, high = _span(self.mean)
        return low - reach, high + reach


@dataclass(frozen=True)
class Truncated(Distribution):
    """A normal distribution that never leaves [low, high]."""

    mean: Argument
    std: Argument
    low: Argument
    high: Argument

    def _inverse(self, u, mean, std, low, high):
        floor, ceiling = stats.norm.cdf((low - mean) / std), stats.norm.cdf((high - mean) / std)
        return np.clip(mean + std * stats.norm.ppf(floor + u * (ceiling - floor)), low, high)

    def support(self):
        return _span(self.low)[0], _span(self.high)[1]


@dataclass(frozen=True)
class Choice(Distribution):
    values: tuple[float, ...]
    weights: tuple[float, ...]

    def _inverse(self, u, values, weights):
        edges = np.cumsum(weights) / np.sum(weights)
        return np.asarray(values, float)[np.minimum(np.searchsorted(edges, u, side="right"), len(values) - 1)]

    def support(self):
        return min(self.values), max(self.values)


def choice_of(values: tuple[float, ...]) -> Choice:
    return Choice(values, (1.0,) * len(values))
