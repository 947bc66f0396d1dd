"""Scene: the state of n scenes that tasks, skills and relations read. Start: where an episode's entities begin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Start:
    """The start of n episodes.

    Attributes:
        poses: entity -> (n, 7): x, y, z, then a quaternion w, x, y, z.
        values: fixture -> (n,) coordinate of its joint; 0 for fixtures that are not named.
        spaces: areas on the table that entities fill, as (n, 2) centres and radii in metres.
    """

    poses: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    spaces: tuple[tuple[np.ndarray, np.ndarray | float], ...] = ()

    @property
    def occupied_m(self) -> tuple[np.ndarray, ...]:
        """(n, 2) places on the table that other bodies must keep away from."""
        return tuple(pose[:, :2] for pose in self.poses.values())


class Scene(Protocol):
    """The state of n scenes, one row each. Positions are in the world, in metres.

    A name is that of an entity (`red_cube`), of a frame of an entity (`drawer.handle`), or of a role of the task, which
    each episode fills with one of several entities (`asked`).
    """

    @property
    def tool_position(self) -> np.ndarray: ...
    @property
    def tool_axes(self) -> np.ndarray:
        """(n, 3, 3) the tool's axes in the world, as columns."""
        ...

    @property
    def shoulder_m(self) -> np.ndarray:
        """(3,) the arm's first joint, about which it turns towards things."""
        ...

    @property
    def table_height_m(self) -> np.ndarray: ...
    @property
    def finger_force_n(self) -> np.ndarray:
        """(n, fingers) contact force of each finger: of both fingers of an arm, or of all arms."""
        ...

    @property
    def support_force_n(self) -> np.ndarray: ...

    def of_arm(self, name: str) -> "Scene":
        """The scene with the tool and the fingers of one arm. They are those of the first arm otherwise."""
        ...

    def position(self, name: str) -> np.ndarray:
        """(n, 3)."""
        ...

    def axes(self, name: str) -> np.ndarray:
        """(n, 3, 3) axes in the world, as columns."""
        ...

    def value(self, name: str) -> np.ndarray:
        """(n,) coordinate of a fixture's joint."""
        ...

    def speed_m_s(self, name: str) -> np.ndarray:
        """(n,) speed of a thing."""
        ...

    def half_extents_m(self, name: str) -> np.ndarray:
        """(n, 3) half extents of a thing along its own axes."""
        ...

    def rest_height_m(self, name: str) -> np.ndarray:
        """(n,) height of a thing's upper side above its centre; 0 for places, whose frame is on their surface."""
        ...
