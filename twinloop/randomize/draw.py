"""Draws: the values of all parameters in several episodes.

Episode i of a run draws point i of scrambled Sobol sequences. Coverage is even at any length, and any episode can be
drawn alone. Each row of the table has its own dimensions, even if a config does not use them. So switching on one
parameter does not change any other value, and two configs that differ in one row are a paired experiment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from zlib import crc32

import numpy as np

from twinloop.randomize.distribution import Distribution
from twinloop.randomize.fill import FillConfig, region_of, restricted
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

    def elements(self, parameter: Parameter, *, thing: str = "") -> np.ndarray:
        """(n,) or (n, elements) values of a parameter, followed by those of the columns in its `beside`.

        Args:
            thing: the thing whose values are meant; "" for the first thing of a scene.
        """
        if thing:
            beside = [_of_thing(column, thing) for column in parameter.beside]
            nominal = np.zeros(len(self.attempts))
            arrays = [self.values[column] for column in parameter.columns_of(thing)]
            arrays += [self.values.get(column, nominal + BY_NAME[column].nominal) for column in beside]
        else:
            arrays = [self.values[column] for column in (*parameter.columns, *parameter.beside)]
        return np.column_stack(arrays) if parameter.elements or parameter.beside else arrays[0]


def _of_thing(column: str, thing: str) -> str:
    """The column of another thing than the first."""
    row, dot, element = column.partition(".")
    return f"{row}.{thing}{dot}{element}"


def nominal_values(count: int) -> dict[str, np.ndarray]:
    """Column -> (count,) nominal values."""
    return dict(zip(COLUMNS, np.repeat(_nominal()[:, None], count, axis=1), strict=True))


@cache
def _nominal() -> np.ndarray:
    """(columns,) nominal values of all columns of the table."""
    return np.array([BY_NAME[column.partition(".")[0]].nominal for column in COLUMNS], float)


def nominal_elements(parameter: Parameter, count: int) -> np.ndarray:
    """(count,) or (count, elements) nominal values of a parameter, as `Draws.elements` returns them."""
    return Draws(np.zeros(count, int), nominal_values(count), ()).elements(parameter)


@lru_cache(maxsize=16)
def _sequence(seed: int) -> Sequence:
    """The sequence of the columns of all built-in rows. Samplers of one seed share it."""
    return Sequence(sum(len(parameter.columns) for parameter in BUILTIN), seed=seed)


def _own_sequence(name: str, columns: int, seed: int) -> Sequence:
    """The sequence of one row that has its own. It depends on the name and not on a position in the table."""
    key = np.random.SeedSequence([seed, crc32(name.encode())]).generate_state(1, np.uint64)
    return Sequence(columns, seed=int(key[0]))


class Sampler:
    """Draws episodes of one run. The same (randomization, seed, index) always gives the same values.

    Args:
        randomization: row -> distribution; `row.thing`, `row.joint` or `row.element` -> the distribution of one thing,
            joint or element.
        things: names of the scene's things. The first draws the columns of the table. The others draw columns of their
            own, from the same distributions, in sequences of their own.
        fill: regions that are drawn more often; None draws all of the space evenly.
    """

    def __init__(
        self,
        randomization: Mapping[str, Distribution],
        *,
        seed: int,
        things: tuple[str, ...] = (),
        fill: FillConfig | None = None,
    ):
        first, rest = things[:1], things[1:]
        self.randomization = {name: randomization[name] for name in randomization if "." not in name}
        for name in randomization:
            row, dot, thing = name.partition(".")
            if dot and (thing,) == first:
                self.randomization[row] = randomization[name]
        self._elements = {name: values for name, values in randomization.items() if name in COLUMNS and "." in name}
        self.seed, self._fill = seed, fill
        self._others = {
            (parameter, thing): distribution
            for thing in rest
            for parameter in TABLE
            if parameter.of_thing
            and (distribution := randomization.get(f"{parameter.name}.{thing}", randomization.get(parameter.name)))
        }
        # Rows of one joint have columns of their own, whatever the scene.
        self._others |= {
            (BY_NAME[name], name.partition(".")[2]): distribution
            for name, distribution in randomization.items()
            if "." in name and BY_NAME[name].of_joint
        }
        # A row varies as a whole, also if the config names only one of its elements.
        rows = {name.partition(".")[0] for name in (*self.randomization, *self._elements)}
        self.varied = tuple(column for column in COLUMNS if column.partition(".")[0] in rows) + tuple(
            column for parameter, thing in self._others for column in parameter.columns_of(thing)
        )
        self._by_column = {
            column: distribution
            for column in COLUMNS
            if (distribution := self._elements.get(column) or self.randomization.get(column.partition(".")[0]))
        }
        self._sequences = [
            _sequence(seed),
            *(_own_sequence(parameter.name, len(parameter.columns), seed) for parameter in PLUGINS),
        ]

    def draw(self, first: int, stop: int) -> Draws:
        points = self.unit_points(first, stop)
        values = nominal_values(stop - first)
        for column, distribution in self._by_column.items():
            unit = _UnitStream(points[column], column, first, self.seed)
            values[column] = np.asarray(distribution.sample(unit.next), float)
        for (parameter, thing), distribution in self._others.items():
            for column in parameter.columns_of(thing):
                unit = _UnitStream(points[column], column, first, self.seed)
                values[column] = np.asarray(distribution.sample(unit.next), float)
        return Draws(np.arange(first, stop), values, self.varied)

    def unit_points(self, first: int, stop: int) -> dict[str, np.ndarray]:
        """Varied column -> (n,) points of the unit interval that its values are made from: their quantiles."""
        points = {COLUMNS[index]: values for index, values in self._points(first, stop).items()}
        for parameter, thing in self._others:
            columns = parameter.columns_of(thing)
            own = _own_sequence(f"{parameter.name}.{thing}", len(columns), self.seed)
            points |= {column: own.points(first, stop, [place])[:, 0] for place, column in enumerate(columns)}
        if self._fill is None:
            return points
        regions = region_of(self._fill, _own_sequence("fill", 1, self.seed).points(first, stop)[:, 0])
        return {column: restricted(self._fill, regions, column, values) for column, values in points.items()}

    def _points(self, first: int, stop: int) -> dict[int, np.ndarray]:
        """Index of a varied column -> its (n,) points. Columns that do not vary cost nothing."""
        points: dict[int, np.ndarray] = {}
        begin = 0
        for sequence in self._sequences:
            names = COLUMNS[begin : begin + sequence.dimensions]
            varied = [index for index, column in enumerate(names) if column in self._by_column]
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
