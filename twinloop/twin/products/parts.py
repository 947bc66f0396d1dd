"""Parts of product families: primitives in millimetres, and materials."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.twin.objects import Part, Quaternion, Triple

UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
ALONG_X: Quaternion = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
ALONG_Y: Quaternion = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)

Drawn = Callable[[float, float], float]
"""(low, high) -> the next number of a product, in this range."""

CARDBOARD, PLASTIC, WOOD, FOOD, RUBBER, CERAMIC, METAL = 350.0, 500.0, 650.0, 950.0, 1100.0, 1800.0, 2700.0
"""Densities in kg/m³. Products of cardboard and plastic are hollow; metal is aluminium."""


@dataclass(frozen=True)
class Family:
    """A kind of product.

    Attributes:
        parts: the primitives of one product, in millimetres.
        yaw_symmetry_rad: as in SceneObject.
        round: it can roll.
    """

    name: str
    parts: Callable[[Drawn], list[Part]]
    density: float
    yaw_symmetry_rad: float = np.pi
    round: bool = False


def box(x: float, y: float, z: float, at: Triple = (0, 0, 0), quat: Quaternion = UPRIGHT) -> Part:
    """A box of these full lengths. `at` is the middle of its lower side."""
    return Part("box", (x / 2, y / 2, z / 2), (at[0], at[1], at[2] + z / 2), quat)


def cylinder(radius: float, height: float, at: Triple = (0, 0, 0)) -> Part:
    """An upright cylinder. `at` is the middle of its lower side."""
    return Part("cylinder", (radius, height / 2, 0), (at[0], at[1], at[2] + height / 2))


def lying(kind: str, radius: float, length: float, at: Triple, quat: Quaternion = ALONG_X) -> Part:
    """A cylinder, or a capsule with this straight length, with its middle at `at`."""
    return Part(kind, (radius, length / 2, 0), at, quat)


def ellipsoid(x: float, y: float, z: float, at: Triple) -> Part:
    """An ellipsoid of these full lengths with its middle at `at`."""
    return Part("ellipsoid", (x / 2, y / 2, z / 2), at)


def yaw(angle_rad: float) -> Quaternion:
    return (float(np.cos(angle_rad / 2)), 0.0, 0.0, float(np.sin(angle_rad / 2)))


def turned(a: Quaternion, b: Quaternion) -> Quaternion:
    """Rotation `b`, followed by rotation `a`."""
    w, x, y, z = a
    return (
        w * b[0] - x * b[1] - y * b[2] - z * b[3], w * b[1] + x * b[0] + y * b[3] - z * b[2],
        w * b[2] - x * b[3] + y * b[0] + z * b[1], w * b[3] + x * b[2] - y * b[1] + z * b[0],
    )  # fmt: skip
