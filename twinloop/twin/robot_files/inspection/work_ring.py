"""A mount and an area of the table for an arm that does not reach the places of tasks.

The places of tasks are moved onto a ring around the arm (`twin/area.py`). The ring is where the tool can pick and lift
with its z axis down. It is as wide as one posture of the arm allows, because the expert moves on a continuous path.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from twinloop.twin.area import Area
from twinloop.twin.robot_files.inspection.workspace import ENOUGH, HEIGHTS_M, Mount, MountFinder, about_z

MAX_RADIUS_M, RADII, MAX_STEP_M = 0.75, 24, 0.03
"""Distances from the arm that are tried: so many, and for a short arm as many over its length."""
ASIDE_RAD = 0.6
"""Angle between the directions in which the arm must be able to work and straight ahead."""
HOME_RADII_M, HOME_HEIGHTS_M = (0.2, 0.3, 0.14, 0.4, 0.25), (0.24, 0.16)
SMALL_M, SMALL_HEIGHTS_M = 0.45, (0.0, 0.035, 0.07, 0.105, 0.14)
"""Heights of the base of an arm that is shorter than this."""
WORK_HEIGHTS_M = (0.02, 0.15)
NOISE_M = 0.02  # by which things start beside their places
MIN_DEPTH_M, ENOUGH_M = 0.05, 0.15
SHORT_M = 0.7
"""An arm that is shorter gets a ring before its base is turned."""
MIDDLE_M = 0.48
"""Distance of the middle of the ring from the origin: as far as the places of tasks are."""


@dataclass(frozen=True)
class WorkRing:
    """A place for the base, and the ring around it."""

    mount: Mount
    area: Area

    @property
    def depth_m(self) -> float:
        return self.area.farthest_m - self.area.nearest_m


def find_ring(finder: MountFinder) -> WorkRing | None:
    """The first ring that is deep enough for most tasks; else the deepest one; None if there is none."""
    best = None
    for finder.overlaps in (False, True):
        for yaw_deg, height_m in product(finder.yaws_deg, _heights_m(finder)):
            ring = _deepest(finder, yaw_deg, height_m)
            if ring is not None and (best is None or ring.depth_m > best.depth_m):
                best = ring
            if best is not None and best.depth_m >= ENOUGH_M:
                return best
        if best is not None:
            break
    return best


def _heights_m(finder: MountFinder) -> tuple[float, ...]:
    """Heights of the base above the table. A small arm needs a suitable one within centimetres."""
    usual = finder.heights_m == HEIGHTS_M
    return SMALL_HEIGHTS_M if usual and finder.length_m < SMALL_M else finder.heights_m


def _radii_m(finder: MountFinder) -> np.ndarray:
    """Distances from the first axis at which the arm is tried."""
    step_m = min(MAX_STEP_M, finder.length_m / RADII)
    return np.arange(3, min(RADII + 3, int(MAX_RADIUS_M / step_m) + 1)) * step_m


def find_place(finder: MountFinder) -> tuple[Mount, Area | None]:
    """A mount, and an area for an arm that does not reach the places of tasks from there."""
    mount = finder.find(finder.yaws_deg[:1])
    if mount.reachable < ENOUGH and finder.length_m > SHORT_M and len(finder.yaws_deg) > 1:
        mount = max(mount, finder.find(finder.yaws_deg[1:]), key=lambda place: place.rank)
    ring = None if mount.reachable >= ENOUGH else find_ring(finder)
    return (mount, None) if ring is None else (ring.mount, ring.area)


def _deepest(finder: MountFinder, yaw_deg: float, height_m: float) -> WorkRing | None:
    """The deepest ring of an arm at this height, turned by this angle."""
    turn = np.deg2rad(yaw_deg)
    to_world = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    x, y = (float(number) for number in -to_world @ finder.axis_m[:2])
    base = (x, y, height_m)  # the first joint turns about the origin
    ahead_m = np.array([(radius_m, 0.0, above_m) for radius_m in HOME_RADII_M for above_m in WORK_HEIGHTS_M])
    if not finder.points_down(ahead_m, base, yaw_deg):
        return None
    best, home_rad = (0.0, 0.0), None
    for radius_m, above_m in product(HOME_RADII_M, HOME_HEIGHTS_M):
        for home, rotation in finder.homes(np.array([radius_m, 0.0, above_m]), base, yaw_deg):
            span = (0.0, 10.0)
            for angle_rad in (0.0, ASIDE_RAD, -ASIDE_RAD):
                near, far = _span(finder, rotation, base, yaw_deg, home, radius_m, angle_rad)
                span = (max(span[0], near), min(span[1], far))
                if span[1] - span[0] < best[1] - best[0] + 1e-6:
                    break
            else:
                best, home_rad = span, home
    near, far = best[0] + NOISE_M / 2, best[1] - NOISE_M
    if home_rad is None or far - near < MIN_DEPTH_M:
        return None
    x_m = round(MIDDLE_M - (near + far) / 2, 3)
    position = (round(x + x_m, 4), round(y, 4), height_m)
    mount = Mount(position, yaw_deg, 0.0, home_rad, overlaps=finder.overlaps)
    return WorkRing(mount, Area((x_m, 0.0), round(near, 3), round(far, 3)))


def _span(
    finder: MountFinder,
    rotation: np.ndarray,
    base: tuple[float, float, float],
    yaw_deg: float,
    home: np.ndarray,
    radius_m: float,
    angle_rad: float,
) -> tuple[float, float]:
    """Nearest and farthest distance around `radius_m` at which the tool can work, in a direction."""
    x, y = np.cos(angle_rad), np.sin(angle_rad)
    radii_m = _radii_m(finder)
    points = np.array([(radius * x, radius * y, height) for radius in radii_m for height in WORK_HEIGHTS_M])
    poses, rotations = finder.turned(points, about_z(angle_rad) @ rotation)
    works = np.all(finder.workable(poses, rotations, base, yaw_deg, home).reshape(len(radii_m), -1), axis=1)
    works, middle = np.asarray(works), int(np.abs(radii_m - radius_m).argmin())
    if not works[middle]:
        return 0.0, 0.0
    first = middle - int(np.argmin([*works[middle::-1], False])) + 1
    last = middle + int(np.argmin([*works[middle:], False])) - 1
    return float(radii_m[first]), float(radii_m[last])
