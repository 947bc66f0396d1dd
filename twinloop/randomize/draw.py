"""Draws: the values of all parameters in several episodes.

Episode i of a run draws point i of scrambled Sobol sequences. Coverage is even at any length, and any episode can be
drawn alone. Each row of the table has its own dimensions, even if a config does not use them. So switching on one
parameter does not change any other value, and two configs that differ in one row are a paired experiment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

from twinloop.randomize.distribution import Distribution
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.sequence import Sequence
from twinloop.randomize.table import BUILTIN, BY_NAME, COLUMNS, PLUGINS, TABLE

EpisodeRange = tuple[int, int]
"""Episodes [first, stop) of a run."""


@dataclass(frozen=True)
class Draws:
    """Drawn values of n episodes.

    Attributes:
        attempts: (n,) episode indices.
        values: column -> (n,), for every column of the table; nominal for columns that the config does not vary.
        varied: names of the columns that the config varies.
    """

    attempts: np.ndarray
    values: Mapping[str, np.ndarray]
    varied: tuple[str, ...]

    def elements(self, parameter: Parameter) -> np.ndarray:
        """(n,) or (n, elements) values of a parameter, followed by those of the columns in its `beside`."""
        arrays = [self.values[column] for column in (*parameter.columns, *parameter.beside)]
        return np.column_stack(arrays) if parameter.elements or parameter.beside else arrays[0]


def nominal_values(count: int) -> dict[str, np.ndarray]:
    """Column -> (count,) nominal values."""
    return {column: np.full(count, BY_NAME[column.partition(".")[0]].nominal) for column in COLUMNS}


@lru_cache(maxsize=16)
def _sequence(seed: int) -> Sequence:
    """The sequence of the columns of all built-in rows. Samplers of one seed share it."""
    return Sequence(sum(len(parameter.columns) for parameter in BUILTIN), seed=seed)


def _plugin_sequence(parameter: Parameter, seed: int) -> Sequence:
    """The sequence of one plugin row. It depends on the row's name and not on its position in the table."""
    key = np.random.SeedSequence([seed, crc32(parameter.name.encode())]).generate_state(1, np.uint64)
    return Sequence(len(parameter.columns), seed=int(key[0]))


class Sampler:
    """Draws episodes of one run. The same (randomization, seed, index) always gives the same values."""

    def __init__(self, randomization: Mapping[str, Distribution], *, seed: int):
        self.randomization = dict(randomization)
        self.seed = seed
        self.varied = tuple(
            column for parameter in TABLE if parameter.name in randomization for column in parameter.columns
        )
        self._sequences = [_sequence(seed), *(_plugin_sequence(parameter, seed) for parameter in PLUGINS)]

    def draw(self, first: int, stop: int) -> Draws:
        points = self._points(first, stop)
        values: dict[str, np.ndarray] = {}
        for index, column in enumerate(COLUMNS):
            name = column.partition(".")[0]
            distribution = self.randomization.get(name)
            if distribution is None:
                values[column] = np.full(stop - first, BY_NAME[name].nominal)
            else:
                unit = _UnitStream(points[index], column, first, self.seed)
                values[column] = np.asarray(distribution.sample(unit.next), float)
        return Draws(np.arange(first, stop), values, self.varied)

    def _points(self, first: int, stop: int) -> dict[int, np.ndarray]:
        """Index of a varied column -> its (n,) points. Columns that do not vary cost nothing."""
        points: dict[int, np.ndarray] = {}
        begin = 0
        for sequence in self._sequences:
            names = COLUMNS[begin : begin + sequence.dimensions]
            varied = [index for index, column in enumerate(names) if column.partition(".")[0] in self.randomization]
            if varied:
                values = sequence.points(first, stop, varied)
                points |= {begin + index: values[:, place] for place, index in enumerate(varied)}
            begin += sequence.dimensions
        return points


class _UnitStream:
    """The Sobol points of a column first, then, for nested distributions, independent streams."""

    def __init__(self, points: np.ndarray, column: str, first: int, seed: int):
        self._points, self._column, self._first, self._seed = points, column, first, seed
        self._depth = 0

    def next(self) -> np.ndarray:
        depth, self._depth = self._depth, self._depth + 1
        if depth == 0:
            return self._points
        key = np.random.SeedSequence([self._seed, crc32(self._column.encode()), depth]).generate_state(2, np.uint64)
        # A counter-based generator can start at episode i. One count gives 4 numbers.
        whole, part = divmod(self._first, 4)
        generator = np.random.Generator(np.random.Philox(key=key).advance(whole))
        return np.clip(generator.random(part + len(self._points))[part:], 2**-33, 1 - 2**-33)


def episode_rng(seed: int, attempt: int, *, stream: str) -> np.random.Generator:
    """The generator of one episode's noise, e.g. on its commands. It depends on these three arguments only."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, attempt, crc32(stream.encode())])))
