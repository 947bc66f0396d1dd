"""View: the state of n scenes that the scripted expert reads. A simulated cell is a View; so is a robot's reading."""

from typing import Protocol

import numpy as np

from twinloop.twin.scene import Scene


class View(Scene, Protocol):
    """The state that one arm sees; for a robot with one arm, the whole scene."""

    @property
    def arms(self) -> "tuple[View, ...]":
        """The view of each arm."""
        ...

    @property
    def tool_lag_m(self) -> np.ndarray:
        """(n,) distance of the tool from `tool_position` if that is a predicted position, else 0."""
        ...

    @property
    def bystander_distance_m(self) -> np.ndarray:
        """(n,) distance from the tool to a bystander's arm; only in twins with a bystander."""
        ...

    @property
    def arm_position_rad(self) -> np.ndarray: ...

    @property
    def arm_effort_nm(self) -> np.ndarray:
        """(n, joints) torques of the arm's motors."""
        ...

    def form(self, name: str) -> np.ndarray:
        """(n,) which of its shapes a thing has."""
        ...

    def entity_of(self, name: str) -> tuple[str, ...]:
        """The entities that a name may stand for: several for a role."""
        ...

    def played_by(self, name: str, entity: str) -> np.ndarray:
        """(n,) whether a name stands for this entity."""
        ...

    def jacobian(self) -> np.ndarray:
        """(6, joints, n) Jacobian of the tool in the world frame: linear rows, then angular rows."""
        ...
