"""View: the state of n scenes that the scripted expert reads. A simulated cell is a View; so is a robot's reading."""

from typing import Protocol

import numpy as np

from twinloop.twin.task import Scene


class View(Scene, Protocol):
    @property
    def tool_axes(self) -> np.ndarray:
        """(n, 3, 3) the tool's axes in the world, as columns."""
        ...

    @property
    def object_yaw_symmetry_rad(self) -> np.ndarray:
        """(n,) yaw after which the grasp is equivalent; 0 if any yaw is."""
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

    def jacobian(self) -> np.ndarray:
        """(n, 6, joints) Jacobian of the tool in the world frame: linear rows, then angular rows."""
        ...
