"""View: what the scripted expert reads of n scenes. A simulated cell is one; so is a robot's reading."""

from typing import Protocol

import numpy as np

from twinloop.twin.task import Scene


class View(Scene, Protocol):
    @property
    def tool_axes(self) -> np.ndarray:
        """(n, 3, 3) columns are the tool's axes in the world."""
        ...

    @property
    def object_yaw_symmetry_rad(self) -> np.ndarray:
        """(n,) the turn after which the object can be gripped alike; 0: any."""
        ...

    @property
    def tool_lag_m(self) -> np.ndarray:
        """(n,) how far the tool still is from `tool_position`, where that is where it was sent."""
        ...

    @property
    def bystander_distance_m(self) -> np.ndarray:
        """(n,) from the tool to somebody's arm, where there may be one."""
        ...

    @property
    def arm_position_rad(self) -> np.ndarray: ...

    def jacobian(self) -> np.ndarray:
        """(n, 6, joints) of the tool: linear rows, then angular, in the world frame."""
        ...
