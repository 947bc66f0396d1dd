"""RowEffect: simulated episodes with one row of the table at several values and all others nominal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from twinloop.observe.poses import poses_of
from twinloop.observe.sensors import ObserveConfig, sense
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.servo import SERVO
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.drives.nominal import kind_for
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin

MAX_WIDTH = 64
"""Most episodes that are simulated at once."""


@dataclass(frozen=True)
class RowEffect:
    """Episodes that differ in one row only.

    Attributes:
        values: (n,) of the row.
        episodes: the simulated state.
    """

    config: RunConfig
    row: Parameter
    values: np.ndarray
    twin: Twin
    episodes: Episodes

    @cached_property
    def seen(self) -> Mapping[str, np.ndarray]:
        """Channel -> sensor readings over the frames of the episodes."""
        return sense(self.episodes, self.twin, self.config.observe, seed=self.config.rollout.seed)

    @cached_property
    def tool_m(self) -> np.ndarray:
        """(frames, 3) position of the tool."""
        episodes = self.episodes
        places = [episodes[name] for name in ("environment", "nodes") if name in episodes.channels]
        # No row changes the arm's kinematics, so one draw serves all.
        poses = poses_of(self.twin, episodes.draws, episodes["position"], np.concatenate(places, axis=1))
        return poses.tool_to_world[:, :3, 3]

    def frames(self, number: int) -> slice:
        """The frames of one episode."""
        start = int(self.episodes.starts[number])
        return slice(start, start + int(self.episodes.lengths[number]))

    def drawn(self, number: int) -> dict[str, float]:
        return {column: float(values[number]) for column, values in self.episodes.draws.values.items()}


@dataclass(frozen=True)
class RowSweep:
    """One row of the table at several values.

    Attributes:
        values: of the row, or of all its elements.
        scene: content of the scene section, where the default scene does not show the effect.
        given: values of other rows that this one needs to have an effect. The row's own `needs` is always on.
    """

    row: Parameter
    values: tuple[float, ...]
    scene: str = ""
    given: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def constants(self) -> dict[str, float]:
        """Row -> value of the other rows that are not nominal."""
        needs = {self.row.needs: BY_NAME[self.row.needs].sensible[1]} if self.row.needs else {}
        return needs | dict(self.given)

    @property
    def varied(self) -> dict[str, Distribution]:
        constants: dict[str, Distribution] = {name: Constant(value) for name, value in self.constants.items()}
        return constants | {self.row.name: Uniform(min(self.values), max(self.values))}

    @property
    def draws(self) -> Draws:
        return draws_of_values(self.row, self.values, self.constants)

    @property
    def parts(self) -> tuple[object, ...]:
        """What the twin of this sweep has. Sweeps with equal parts can be simulated in one twin."""
        rows = [BY_NAME[name] for name in self.varied]
        built = frozenset(part for row in rows for part in row.builds)
        servos = frozenset(row.name for row in rows) & {row.name for row in SERVO}
        delayed = self.row.name if any(row.delay_line_ms for row in rows) else ""
        return self.scene, built, kind_for(set(servos)) if servos else "", delayed

    @property
    def is_sensed_only(self) -> bool:
        """Whether the row acts on images and readings alone, so that the physics is the same at all values."""
        row = self.row
        acts = row.apply or row.on_command or row.on_start or row.on_base or row.builds or row.delay_line_ms
        return bool(row.on_image or row.on_reading) and not acts


def effects_of(sweeps: Iterable[RowSweep]) -> list[RowEffect]:
    """Simulate the same episode once for each value of each sweep. Sweeps that fit into one twin run side by side."""
    sweeps, effects = list(sweeps), {}
    batches: dict[tuple[object, ...], list[int]] = {}
    for number, sweep in enumerate(sweeps):
        batches.setdefault(sweep.parts, []).append(number)
    for numbers in batches.values():
        effects |= zip(numbers, _simulate([sweeps[number] for number in numbers]), strict=True)
    return [effects[number] for number in range(len(sweeps))]


def _simulate(sweeps: Sequence[RowSweep]) -> list[RowEffect]:
    """The effects of sweeps with equal parts."""
    varied = {name: values for sweep in sweeps for name, values in sweep.varied.items()}
    config = replace(_quiet_config(sweeps[0].scene), randomization=varied)
    seed, twin = config.rollout.seed, twin_of(config)
    blocks = [draws_of_values(sweep.row, _simulated_values(sweep), sweep.constants) for sweep in sweeps]
    width = min(sum(len(draws.attempts) for draws in blocks), MAX_WIDTH)
    actor = Expert(twin, config.expert, width=width, seed=seed)
    simulated = {id(done.draws): done for done in rollout(Cell(twin, width=width), iter(blocks), actor, seed=seed)}
    return [
        RowEffect(config, sweep.row, np.asarray(sweep.values, float), twin, _for_all(sweep, simulated[id(draws)]))
        for sweep, draws in zip(sweeps, blocks, strict=True)
    ]


def _simulated_values(sweep: RowSweep) -> tuple[float, ...]:
    return sweep.values[:1] if sweep.is_sensed_only else sweep.values


def _for_all(sweep: RowSweep, done: Episodes) -> Episodes:
    """The episodes of all values of a sweep. Where sensors alone differ, one was simulated."""
    count = len(sweep.values) if sweep.is_sensed_only else 1
    results = {
        part.name: np.concatenate([getattr(done, part.name)] * count)
        for part in fields(Episodes)
        if part.name not in ("draws", "channels")
    }
    return replace(done, draws=sweep.draws, **results)


def _quiet_config(scene: str) -> RunConfig:
    """A config with every sensor on and no action noise."""
    text = f"scene: {{{scene}}}\nexpert: {{action_noise_rad: 0}}"
    config = config_from_text(text, name="effect", folder=Path())
    switches = {option.name: True for option in fields(ObserveConfig) if option.type is bool}
    return replace(config, observe=replace(config.observe, **switches))


def draws_of_values(row: Parameter, values: Sequence[float], given: Mapping[str, float]) -> Draws:
    """One episode for each value of a row. All are attempt 0 and share its noise, so that only the row differs.

    Args:
        given: row -> value of other rows.
    """
    count = len(values)
    columns = {column: np.repeat(array, count) for column, array in Sampler({}, seed=0).draw(0, 1).values.items()}
    columns |= {column: np.full(count, given[name]) for name in given for column in BY_NAME[name].columns}
    columns |= {column: np.array(values, float) for column in row.columns}
    varied = tuple(column for column in columns if column.partition(".")[0] in {row.name, *given})
    return Draws(np.zeros(count, int), columns, varied)
