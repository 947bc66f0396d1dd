"""Area: the part of the table that a robot reaches, and where on it the places of a task are.

Tasks give places on the table for an arm that stands at the origin and reaches 0.85 m, at 0.4 to 0.68 m from it. An arm
with a shorter reach stands nearer to the things, and their places bend around it: distances from the arm shrink, and
distances across become arcs. What faces the large arm at the origin faces the short arm too.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from twinloop.twin.entity import Entity

NEAREST_M, FARTHEST_M = 0.4, 0.68
"""Distances from the origin of the places that tasks give."""
WIDEST_RAD = 1.4
SHORT_M = 0.5
"""An arm whose farthest place is nearer than this is short."""


@dataclass(frozen=True)
class Area:
    """A ring around a robot's base.

    Attributes:
        centre_m: of the ring, on the table.
        nearest_m, farthest_m: distances at which the hand can work close above the table.
        width: distances across, as a share of those that tasks give.
        lean_rad: how far past the vertical the hand can lean there, with the fingers pointing back to the robot.
    """

    centre_m: tuple[float, float]
    nearest_m: float
    farthest_m: float
    width: float = 1.0
    lean_rad: float = np.inf

    @property
    def is_short(self) -> bool:
        """Whether the ring is nearer to the arm than the places that tasks give."""
        return self.farthest_m < SHORT_M

    def place(self, xy_m: tuple[float, float], *, front_m: float = 0.0) -> tuple[tuple[float, float], float]:
        """Where a place of a task is for this robot, and the angle by which what stands there is turned.

        Args:
            front_m: distance from the place to the handle in front of it, which the hand has to reach.
        """
        x, y = xy_m
        share = (np.hypot(x, y) - front_m - NEAREST_M) / (FARTHEST_M - NEAREST_M)
        radius = self.nearest_m + float(np.clip(share, 0, 1)) * (self.farthest_m - self.nearest_m) + front_m
        angle = float(np.clip(self.width * y / radius, -WIDEST_RAD, WIDEST_RAD))
        return (self.centre_m[0] + radius * np.cos(angle), self.centre_m[1] + radius * np.sin(angle)), angle


class Entities(dict[str, Entity]):
    """The entities of a scene by name, and the area in which they are placed. None: where the task says."""

    def __init__(self, entities: Iterable[Entity], area: Area | None):
        super().__init__((entity.name, entity) for entity in entities)
        self.area = area
