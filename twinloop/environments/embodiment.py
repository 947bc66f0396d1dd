"""Embodiment: the part of an environment that depends on the robot: its simulation, sensors and actions.

`VectorTwinEnv` does the rest for every robot: it counts time, adds up rewards, ends episodes and begins new ones,
checks that all values are finite, and can be saved and resumed. A robot with legs or wheels is a subclass of
Embodiment, with terms of its own in the table.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from twinloop.observe.recording import Feature
from twinloop.randomize.draw import Draws


@dataclass(frozen=True)
class ActionScale:
    """How an action from -1 to 1 becomes a command in the units of a dataset's actions.

    command = action * span + centre, and for relative elements + the measured joint position of that name. A policy's
    `ActionCode` computes the same, so the trained policy gives commands without the environment.

    Attributes:
        relative: (a,) elements that are steps from `observation.state`.
        centre, span: (a,) in the action's units.
        lowest, highest: (a,) limits of the command.
    """

    relative: np.ndarray
    centre: np.ndarray
    span: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray


@dataclass(frozen=True)
class TermDefaults:
    """The terms of an environment whose config names none."""

    observations: tuple[str, ...]
    rewards: dict[str, float]
    terminations: tuple[str, ...]
    privileged: tuple[str, ...] = ()
    curriculum: dict[str, float] = field(default_factory=dict)


class Embodiment(ABC):
    """`width` simulated robots, each in its own episode. All arrays have one row per simulation.

    An episode is a function of its draws and its commands. It may not depend on other simulations, on the slot, or on
    what the slot has simulated before: saving and resuming an environment repeats its episodes.

    Attributes:
        kind: selects terms of the table: `arm`, `legs`, `wheels`.
        robot: name of the robot model, for the checkpoint's card.
        instruction: the task in words.
        width: number of simulations.
        rate_hz: control rate.
        longest_ticks: control periods of the longest episode.
        features: its sensor features, as in datasets.
        action: the feature of its commands.
        scale: how actions become commands.
        defaults: terms that an empty config has.
        varied: columns of its draws that vary.
    """

    kind: ClassVar[str]
    robot: str
    instruction: str
    width: int
    rate_hz: float
    longest_ticks: int
    features: tuple[Feature, ...]
    action: Feature
    scale: ActionScale
    defaults: TermDefaults
    varied: tuple[str, ...]

    @abstractmethod
    def reseed(self, seed: int) -> None:
        """Use another run seed for all episodes that begin from now on."""

    @abstractmethod
    def draw(self, first: int, stop: int) -> Draws:
        """The values of all randomized parameters of episodes [first, stop) of the run."""

    @abstractmethod
    def use(self, features: tuple[str, ...], needs: frozenset[str]) -> None:
        """Called once: `features` will be observed, and terms need these parts (`Term.needs`) to be updated."""

    @abstractmethod
    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Begin episodes `rows` of `draws` in simulations `ids`."""

    @abstractmethod
    def observe(self, ids: np.ndarray | None) -> dict[str, np.ndarray]:
        """Feature -> (len(ids), elements) float32 sensor values; None: all. Once per simulation and control period."""

    @abstractmethod
    def step(self, ids: np.ndarray | None, command: np.ndarray) -> None:
        """Simulate one control period in `ids` (None: all). command: (width, a) in the action's units."""

    @abstractmethod
    def succeeded(self) -> np.ndarray:
        """(width,) whether an episode that ended now would be a success."""

    @abstractmethod
    def diverged(self, tick: np.ndarray) -> np.ndarray:
        """(width,) whether the physics is invalid. tick: (width,) control periods since each episode began."""
