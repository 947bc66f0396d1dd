"""RowEffect: simulated episodes with one row of the table at several values and all others nominal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from twinloop.observe.poses import poses_of
from twinloop.observe.sensors import ObserveConfig, sense
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class RowEffect:
    """Episodes that differ in one row only.

    Attributes:
        values: (n,) of the row.
        episodes: the simulated state.
        seen: channel -> sensor readings over the same frames.
        tool_m: (frames, 3) position of the tool.
    """

    config: RunConfig
    row: Parameter
    values: np.ndarray
    twin: Twin
    episodes: Episodes
    seen: Mapping[str, np.ndarray]
    tool_m: np.ndarray

    def frames(self, number: int) -> slice:
        """The frames of one episode."""
        start = int(self.episodes.starts[number])
        return slice(start, start + int(self.episodes.lengths[number]))

    def drawn(self, number: int) -> dict[str, float]:
        return {column: float(values[number]) for column, values in self.episodes.draws.values.items()}


def effect_of(row: Parameter, values: Sequence[float], *, scene: str = "", given: Mapping[str, float]) -> RowEffect:
    """Simulate the same episode once for each value of a row, or of all its elements.

    Args:
        scene: content of the scene section, where the default scene does not show the effect.
        given: values of other rows that this one needs to have an effect. The row's own `needs` is always on.
    """
    given = dict(given)
    if row.needs:
        given.setdefault(row.needs, BY_NAME[row.needs].sensible[1])
    varied: dict[str, Distribution] = {name: Constant(value) for name, value in given.items()}
    varied[row.name] = Uniform(min(values), max(values))
    config = replace(_quiet_config(scene), randomization=varied)
    seed, count = config.rollout.seed, len(values)
    twin = twin_of(config)
    actor = Expert(twin, config.expert, width=count, seed=seed)
    draws = _draws(row, np.asarray(values, float), given)
    (episodes,) = rollout(Cell(twin, width=count), iter([draws]), actor, seed=seed)
    seen = sense(episodes, twin, config.observe, seed=seed)
    # No row changes the arm's kinematics, so one draw serves all.
    places = [episodes[name] for name in ("environment", "nodes") if name in episodes.channels]
    tool = poses_of(twin, draws, episodes["position"], np.concatenate(places, axis=1)).tool_to_world[:, :3, 3]
    return RowEffect(config, row, np.asarray(values, float), twin, episodes, seen, tool)


def _quiet_config(scene: str) -> RunConfig:
    """A config with every sensor on and no action noise."""
    text = f"scene: {{{scene}}}\nexpert: {{action_noise_rad: 0}}"
    config = config_from_text(text, name="effect", folder=Path())
    switches = {option.name: True for option in fields(ObserveConfig) if option.type is bool}
    return replace(config, observe=replace(config.observe, **switches))


def _draws(row: Parameter, values: np.ndarray, given: Mapping[str, float]) -> Draws:
    # All are attempt 0 and share its noise, so that only the row differs.
    nominal = Sampler({}, seed=0).draw(0, 1)
    columns = {column: np.repeat(array, len(values)) for column, array in nominal.values.items()}
    for name, value in given.items():
        columns |= {column: np.full(len(values), value) for column in BY_NAME[name].columns}
    columns |= {column: values.copy() for column in row.columns}
    on = {row.name, *given}
    varied = tuple(column for column in columns if column.partition(".")[0] in on)
    return Draws(np.zeros(len(values), int), columns, varied)
