"""Terrain: the ground that robots walk on. It is flat, or a grid of patches whose difficulty grows with their level.

A patch of a level has its start in the middle, on a level square. All simulations of a batch share one ground, and a
curriculum moves robots between its levels. The ground goes on beyond the patches: a robot cannot sense its edge, and
would walk over it by command.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from twinloop.errors import ModelError, nearest

PATCH_M, CELL_M = 8.0, 0.1
LEVELS, COLUMNS = 6, 6
START_M = 1.0
"""Side of the level square in the middle of a patch."""
ROUGH_M = (0.01, 0.08)
"""Largest height difference of neighbouring points, at the first and the last level."""
RISER_M, TREAD_M = (0.03, 0.13), 0.4
"""Height of steps at the first and the last level, and their depth. Public stairs have 0.15 to 0.18 m (ISO 21542)."""
BORDER_M = 24.0
"""Width of the ground around the patches. It mirrors them, so that it is as difficult as the patches beside it. A robot
at 1.08 m/s, the fastest command of the examples, covers 22 m in an episode."""
BASE_M = 0.1
"""Thickness of the ground below its lowest point."""
GROUND = "ground"


@dataclass(frozen=True)
class Terrain:
    """The ground.

    Attributes:
        heights_m: (x, y) heights of grid points that are `CELL_M` apart; None for a flat ground without end.
    """

    name: str
    heights_m: np.ndarray | None = None

    @property
    def levels(self) -> int:
        return 1 if self.heights_m is None else LEVELS

    @cached_property
    def starts_m(self) -> np.ndarray:
        """(levels, columns, 2) starts of all patches. A flat ground has one."""
        if self.heights_m is None:
            return np.zeros((1, 1, 2))
        x = (np.arange(LEVELS) - (LEVELS - 1) / 2) * PATCH_M
        y = (np.arange(COLUMNS) - (COLUMNS - 1) / 2) * PATCH_M
        return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)

    def height_at(self, xy_m: np.ndarray) -> np.ndarray:
        """(...) height of the ground at (..., 2) places; that of the edge beyond it."""
        if self.heights_m is None:
            return np.zeros(xy_m.shape[:-1])
        # The engine cuts each cell into two triangles along its diagonal; the bilinear surface differs by less than
        # the height differences inside one cell.
        rows, columns = self.heights_m.shape
        place = xy_m / CELL_M + (np.array([rows, columns]) - 1) / 2
        place = np.clip(place, 0, np.array([rows, columns]) - 1.001)
        corner = place.astype(int)
        u, v = np.moveaxis(place - corner, -1, 0)
        i, j = np.moveaxis(corner, -1, 0)
        height = self.heights_m
        low = (1 - v) * height[i, j] + v * height[i, j + 1]
        return (1 - u) * low + u * ((1 - v) * height[i + 1, j] + v * height[i + 1, j + 1])

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Add the ground to a model. Its friction is that of every contact."""
        about = {"name": GROUND, "priority": 1, "contype": 0, "conaffinity": 1, "rgba": [0.55, 0.56, 0.5, 1], "mass": 0}
        ground = spec.worldbody.add_body(name=GROUND)
        if self.heights_m is None:
            ground.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[0.8, 0.02, 0.01], **about)
            return
        low, high = float(self.heights_m.min()), float(self.heights_m.max())
        rows, columns = self.heights_m.shape
        span = max(high - low, 1e-3)
        field = spec.add_hfield(
            name=GROUND, nrow=columns, ncol=rows,
            size=[(rows - 1) * CELL_M / 2, (columns - 1) * CELL_M / 2, span, BASE_M],
        )  # fmt: skip
        # The engine's rows run along y and its columns along x.
        field.userdata = ((self.heights_m.T - low) / span).ravel()
        ground.add_geom(
            type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=GROUND, pos=[0, 0, low], friction=[0.8, 0.02, 0.01], **about
        )


def _share(level: int) -> float:
    return level / max(LEVELS - 1, 1)


def _rough(level: int, rng: np.random.Generator, size: int) -> np.ndarray:
    """Random heights every 0.2 m, interpolated."""
    amplitude = ROUGH_M[0] + _share(level) * (ROUGH_M[1] - ROUGH_M[0])
    coarse = rng.uniform(0, amplitude, (size // 2 + 1, size // 2 + 1))
    fine = np.repeat(np.repeat(coarse, 2, axis=0), 2, axis=1)[:size, :size]
    fine[1::2] = (fine[1::2] + np.roll(fine, -1, axis=0)[1::2]) / 2
    fine[:, 1::2] = (fine[:, 1::2] + np.roll(fine, -1, axis=1)[:, 1::2]) / 2
    return fine


def _stepped(level: int, rng: np.random.Generator, size: int) -> np.ndarray:
    """Square rings of steps around the start, which is on a hill or in a pit. The outermost ring has height 0."""
    riser = RISER_M[0] + _share(level) * (RISER_M[1] - RISER_M[0])
    outermost = int((PATCH_M / 2 - START_M) / TREAD_M)
    ring = np.minimum(np.maximum(_distance_m(size) - START_M, 0) // TREAD_M, outermost)
    return rng.choice((-1, 1)) * riser * (outermost - ring)


def _distance_m(size: int) -> np.ndarray:
    """(size, size) distance from the middle of a patch, along the axis where it is larger."""
    axis = np.abs(np.arange(size) - (size - 1) / 2) * CELL_M
    return np.maximum(axis[:, None], axis[None, :])


Patch = Callable[[int, np.random.Generator, int], np.ndarray]
"""(level, generator, number of points) -> heights of a patch."""
KINDS: Mapping[str, tuple[Patch, ...]] = {
    "flat": (),
    "rough": (_rough,),
    "stepped": (_stepped,),
    "mixed": (_rough, _stepped),
}
"""Name of a terrain -> the kinds of its patches, column after column; none for a plane."""


def make_terrain(name: str, *, seed: int = 0) -> Terrain:
    """The terrain of a name. The same seed gives the same ground.

    Raises:
        ModelError: there is no terrain of this name.
    """
    if name not in KINDS:
        raise ModelError(f"terrain {name!r}: {nearest(name, KINDS)}")
    kinds = KINDS[name]
    if not kinds:
        return Terrain(name)
    size = round(PATCH_M / CELL_M)
    start = _distance_m(size) <= START_M / 2
    heights = np.zeros((LEVELS * size, COLUMNS * size))
    for level, column in np.ndindex(LEVELS, COLUMNS):
        patch = kinds[column % len(kinds)]
        block = patch(level, np.random.default_rng([seed, level, column]), size)
        block[start] = block[start].max()
        heights[level * size : (level + 1) * size, column * size : (column + 1) * size] = block
    return Terrain(name, np.pad(heights, round(BORDER_M / CELL_M), mode="symmetric"))
