"""MobileEmbodiment: the common part of environments of legged robots and of robots on wheels."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from twinloop.environments.embodiment import Embodiment
from twinloop.observe.recording import Feature
from twinloop.randomize.draw import Draws
from twinloop.randomize.table import BY_NAME

BASE = "observation.environment_state"
BASE_NAMES = tuple(f"base.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz"))


class MobileEmbodiment(Embodiment):
    """`width` simulations of a robot that moves about.

    Attributes:
        config: of the run, a MobileConfig.
        surroundings: true poses that datasets record beside the sensors.
        unfinished: name of the failure of an episode that reaches the time limit without success.
        checks: name -> (width,) figures of the present episodes, which datasets and evaluations keep.
        scaled_draws: (width, varied) drawn values of the current episodes, from 0 to 1.
        rest: (a,) the command with which the robot stays where it is.
        takes_speeds: its commands are speeds, not positions.
        asked: (feature, element) of the velocity that the robot is asked for.
    """

    config: Any
    surroundings: Feature = Feature(BASE, "float32", (7,), BASE_NAMES, "m; quaternion; world frame")
    unfinished: str
    rest: np.ndarray
    takes_speeds: ClassVar[bool] = False
    asked: ClassVar[tuple[tuple[str, str], ...]] = ()

    def _prepare_draws(self) -> None:
        """Set up `varied` and `scaled_draws`."""
        self.varied = self.config.sampler(seed=0).varied
        ends = [self._ends(column) for column in self.varied]
        self._low, high = np.array(ends, float).reshape(-1, 2).T
        self._span = np.where(high > self._low, high - self._low, 1.0)
        self.scaled_draws = np.zeros((self.width, len(self.varied)), np.float32)

    def _ends(self, column: str) -> tuple[float, float]:
        """Lowest and highest value of a column. A config may name a whole row or one of its elements."""
        row, rows = column.partition(".")[0], self.config.randomization
        distribution = rows.get(column) or rows.get(row)
        nominal = BY_NAME[row].nominal
        return (nominal, nominal) if distribution is None else distribution.support()

    def _scale_draws(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        for place, column in enumerate(self.varied):
            self.scaled_draws[ids, place] = (draws.values[column][rows] - self._low[place]) / self._span[place]

    def draw(self, first: int, stop: int) -> Draws:
        return self._sampler.draw(first, stop)

    def reseed(self, seed: int) -> None:
        self._seed = seed
        self._sampler = self.config.sampler(seed=seed)

    def use(self, features: tuple[str, ...], needs: frozenset[str]) -> None:
        """All features and parts are always there: they cost little beside the physics."""

    @abstractmethod
    def use_expert(self) -> None:
        """Compute commands of the scripted expert in every control period."""

    @abstractmethod
    def expert_command(self) -> np.ndarray:
        """(width, a) commands of the scripted expert."""

    @abstractmethod
    def surrounding_poses(self) -> np.ndarray:
        """(width, elements) of the feature `surroundings`."""

    @property
    @abstractmethod
    def checks(self) -> dict[str, np.ndarray]: ...

    def impossible(self) -> np.ndarray:
        """(width,) name of the reason why an episode cannot succeed with any actions; "" if it can."""
        return np.full(self.width, "", object)
