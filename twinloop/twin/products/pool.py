"""Products: a pool of procedural objects for bins full of different things.

`product(number)` depends on the number alone. Products of one family differ by evenly spread sizes.
"""

import colorsys
from functools import lru_cache

import numpy as np

from twinloop.twin.objects import Part, SceneObject
from twinloop.twin.products.families import FAMILIES
from twinloop.twin.products.parts import Drawn
from twinloop.twin.soft import axes_of

POOL = 4 * len(FAMILIES)
"""Number of products that a bin draws from."""

STEP_MM = 0.1
SAMPLES = 40  # along the longest side, to measure the volume of parts that overlap
MM = 0.001
HUE_STEP = (np.sqrt(5) - 1) / 2


@lru_cache(maxsize=512)
def product(number: int) -> SceneObject:
    """The product with this number, from 0. A gripper that opens by 70 mm closes on its origin along y.

    Raises:
        ValueError: the number is negative.
    """
    if number < 0:
        raise ValueError(f"product number: {number} was given; 0 or more was expected")
    variant, place = divmod(number, len(FAMILIES))
    family = FAMILIES[place]
    parts = _centred(family.parts(_numbers(variant, place)))
    half = np.max([np.abs(bounds_of(part)).max(axis=0) for part in parts], axis=0)
    hue = (place * HUE_STEP + variant * 0.11) % 1
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.55 + 0.1 * (variant % 4), 0.85)
    return SceneObject(
        name=f"{family.name}_{variant}",
        shape="cylinder" if family.round else "box",
        half_extents_m=(float(half[0]), float(half[1]), float(half[2])),
        yaw_symmetry_rad=family.yaw_symmetry_rad,
        mass_kg=round(family.density * union_volume_m3(parts), 4),
        rgba=(red, green, blue, 1.0),
        parts=parts,
    )


def products(count: int = POOL) -> tuple[SceneObject, ...]:
    return tuple(product(number) for number in range(count))


def _numbers(variant: int, family: int) -> Drawn:
    """Evenly spread numbers of one variant: a lattice of irrational steps, another in each dimension."""
    dimension = 0

    def draw(low: float, high: float) -> float:
        nonlocal dimension
        dimension += 1
        # Powers of the root of x⁹ = x + 1 spread points evenly in eight dimensions.
        share = (0.5 + 0.37 * family + (variant + 1) * 1.0798**-dimension * 3) % 1
        value = low + share * (high - low)
        return round(value / STEP_MM) * STEP_MM if high > 2 else value

    return draw


def _centred(parts: list[Part]) -> tuple[Part, ...]:
    """The parts in metres, with the origin at half the height."""
    corners = np.vstack([bounds_of(part) for part in parts])
    middle = (corners[:, 2].min() + corners[:, 2].max()) / 2
    return tuple(
        Part(
            part.kind,
            (part.size[0] * MM, part.size[1] * MM, part.size[2] * MM),
            (part.at[0] * MM, part.at[1] * MM, (part.at[2] - float(middle)) * MM),
            part.quat,
        )
        for part in parts
    )


def bounds_of(part: Part) -> np.ndarray:
    """(2, 3) lowest and highest point of a part along each axis."""
    rotation = axes_of(np.array([part.quat]))[0]
    a, b, c = part.size
    if part.kind == "box":
        reach = np.abs(rotation) @ np.array([a, b, c])
    elif part.kind == "ellipsoid":
        reach = np.sqrt((rotation * np.array([a, b, c])) ** 2 @ np.ones(3))
    else:
        along = np.abs(rotation[:, 2])
        reach = b * along + (a if part.kind == "capsule" else a * np.sqrt(np.maximum(1 - along**2, 0)))
    return np.array([part.at - reach, part.at + reach])


def union_volume_m3(parts: tuple[Part, ...]) -> float:
    """Volume of parts, with overlaps counted once: the share of evenly spread samples that is in one of them."""
    corners = np.vstack([bounds_of(part) for part in parts])
    low, high = corners.min(axis=0), corners.max(axis=0)
    pitch = float((high - low).max()) / SAMPLES
    counts = np.ceil((high - low) / pitch).astype(int)
    spans = zip(low, high, counts, strict=True)
    sides = [start + (np.arange(count) + 0.5) * (end - start) / count for start, end, count in spans]
    filled = np.zeros(counts, bool)
    for part in parts:
        # Only the samples within the bounds of the part can be in it.
        box = tuple(slice(*np.searchsorted(side, ends)) for side, ends in zip(sides, bounds_of(part).T, strict=True))
        near = [side[span] for side, span in zip(sides, box, strict=True)]
        filled[box] |= _contains_grid(part, near)
    return float(filled.mean() * np.prod(high - low))


def contains(part: Part, points: np.ndarray) -> np.ndarray:
    """(n,) which of (n, 3) points are in a part."""
    return _is_inside(part, *((points - np.array(part.at)) @ axes_of(np.array([part.quat]))[0]).T)


def _contains_grid(part: Part, sides: list[np.ndarray]) -> np.ndarray:
    """(x, y, z) which points of a grid with these coordinates along its three sides are in a part."""
    rotation = axes_of(np.array([part.quat]))[0]
    x, y, z = ((side - at)[:, None] * axis for side, at, axis in zip(sides, part.at, rotation, strict=True))
    # Each side adds its own share to the coordinates in the frame of the part.
    return _is_inside(part, *(x[:, None, None, k] + y[:, None, k] + z[:, k] for k in range(3)))


def _is_inside(part: Part, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Whether points are in a part, from their coordinates in the frame of the part."""
    a, b, c = part.size
    if part.kind == "box":
        return (np.abs(x) <= a) & (np.abs(y) <= b) & (np.abs(z) <= c)
    if part.kind == "ellipsoid":
        return (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1
    across, height = x**2 + y**2, np.abs(z)
    if part.kind == "capsule":
        return across + np.maximum(height - b, 0) ** 2 <= a * a
    return (across <= a * a) & (height <= b)
