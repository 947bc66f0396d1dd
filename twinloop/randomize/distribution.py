"""Distributions: how a value varies from episode to episode.

An argument of a distribution may itself be a distribution, e.g. a friction whose mean differs from batch to batch.
Sampling is by inverse transform, from a point u of the unit interval to a value. Each distribution uses one u, so the
value of episode i is a function of i alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

Unit = Callable[[], np.ndarray]
"""Returns the next (n,) points of the unit interval. A nested distribution calls it once per distribution."""


class Distribution(ABC):
    @abstractmethod
    def sample(self, unit: Unit) -> np.ndarray:
        """(n,) values for the next (n,) points of the unit interval."""

    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Lowest and highest value that may be drawn; for unbounded distributions four standard deviations out."""


Argument = float | Distribution


def _value(argument: Argument, unit: Unit) -> float | np.ndarray:
    return argument.sample(unit) if isinstance(argument, Distribution) else argument


def _span(argument: Argument) -> tuple[float, float]:
    return argument.support() if isinstance(argument, Distribution) else (argument, argument)


@dataclass(frozen=True)
class Constant(Distribution):
    value: Argument

    def sample(self, unit):
        return np.zeros_like(unit()) + _value(self.value, unit)

    def support(self):
        return _span(self.value)


@dataclass(frozen=True)
class Uniform(Distribution):
    low: Argument
    high: Argument

    def sample(self, unit):
        u, low, high = unit(), _value(self.low, unit), _value(self.high, unit)
        return low + u * (high - low)

    def support(self):
        return _span(self.low)[0], _span(self.high)[1]


@dataclass(frozen=True)
class LogUniform(Distribution):
    low: Argument
    high: Argument

    def sample(self, unit):
        u, low, high = unit(), _value(self.low, unit), _value(self.high, unit)
        return low * (high / low) ** u

    def support(self):
        return _span(self.low)[0], _span(self.high)[1]


@dataclass(frozen=True)
class Normal(Distribution):
    mean: Argument
    std: Argument

    def sample(self, unit):
        u, mean, std = unit(), _value(self.mean, unit), _value(self.std, unit)
        return mean + std * scipy.special.ndtri(u)

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

    def sample(self, unit):
        u, mean, std = unit(), _value(self.mean, unit), _value(self.std, unit)
        low, high = _value(self.low, unit), _value(self.high, unit)
        floor, ceiling = scipy.special.ndtr((low - mean) / std), scipy.special.ndtr((high - mean) / std)
        return np.clip(mean + std * scipy.special.ndtri(floor + u * (ceiling - floor)), low, high)

    def support(self):
        return _span(self.low)[0], _span(self.high)[1]


@dataclass(frozen=True)
class Choice(Distribution):
    values: tuple[float, ...]
    weights: tuple[float, ...]

    def sample(self, unit):
        edges = np.cumsum(self.weights) / np.sum(self.weights)
        index = np.searchsorted(edges, unit(), side="right")
        return np.asarray(self.values, float)[np.minimum(index, len(self.values) - 1)]

    def support(self):
        return min(self.values), max(self.values)


def choice_of(values: tuple[float, ...]) -> Choice:
    return Choice(values, (1.0,) * len(values))
