"""Snapshot: a cell at the start of an episode."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from twinloop.observe.looks import dressed_model
from twinloop.randomize.draw import Sampler
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell

STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


@dataclass(frozen=True)
class Snapshot:
    """A compiled cell and its state.

    Attributes:
        model: the physics, with the values that the episode has drawn.
        state: arrays of the engine's state, by the names in `STATE`.
        looks: a model with bodies of the same names that has the cameras, lights, materials and the room; None if
            `model` has all that is to be exported.
        origin: what the snapshot was made from, for the file `scene.json`.
    """

    model: mujoco.MjModel
    state: Mapping[str, np.ndarray]
    looks: mujoco.MjModel | None = None
    origin: Mapping[str, object] = field(default_factory=dict)


def snapshot_of(config: RunConfig, *, episode: int | None = None) -> Snapshot:
    """The cell of a config at the start of an episode.

    Args:
        episode: index of an episode of the run; None for nominal values of all parameters.
    """
    twin, seed = twin_of(config), config.rollout.seed
    randomization = {} if episode is None else config.randomization
    number = episode or 0
    draws = Sampler(randomization, seed=seed).draw(number, number + 1)
    cell, first = Cell(twin, width=1), np.array([0])
    cell.admit(first, draws, first)
    values = {column: float(array[0]) for column, array in draws.values.items()}
    return Snapshot(
        model=cell.batch.get_model(0),
        state={name: np.array(cell.engine.bind(name)[0]) for name in STATE},
        looks=dressed_model(twin, config.cameras_or_default, values),
        origin={
            "config_digest": config.digest,
            "robot": config.scene.robot.name,
            "task": config.scene.task.name,
            "episode": episode,
            "seed": None if episode is None else seed,
            "drawn": {column: values[column] for column in draws.varied},
        },
    )
