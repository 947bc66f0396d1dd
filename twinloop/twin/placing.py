"""Placing: start poses of entities from a draw.

The first thing of a task reads the columns of the table (`object_yaw_deg`); others read columns of their own
(`object_yaw_deg.blue_cube`), which a config has as soon as it varies the row. All places keep clear of each other.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.scene import Start
from twinloop.twin.shapes import half_extents_m, row_columns
from twinloop.twin.soft import axes_of
from twinloop.twin.table import HIGHEST_XY_M, LOWEST_XY_M, laid

CLEARANCE_M = 0.015
SHIFT_ROWS = ("object_shift_probability", "object_shift_cm", "object_shift_at_s")
"""Rows that move the first thing over the table, which is impossible where it is inside something."""
HAND_M = 0.06
"""Radius of the room that a hand needs at a handle, or to push a thing over the table."""
WAY_POINTS = 5
"""Places along the way of a pushed thing that other bodies keep clear of."""
RING_M, RINGS, RING_PLACES = 0.02, 20, 16
"""Distance of the rings on which a free place is looked for, their number, and places on each."""


def pushed_away(place: np.ndarray, point: np.ndarray, clearance_m: float | np.ndarray) -> np.ndarray:
    """(n, 2) places, moved straight away from (n, 2) points until the distance is at least `clearance_m`."""
    offset = place - point
    distance = np.sqrt(np.square(offset).sum(axis=1))
    missing = np.maximum(clearance_m - distance, 0)
    return place + offset / np.maximum(distance, 1e-6)[:, None] * missing[:, None]


def is_clear(place: np.ndarray, point: np.ndarray, clearance_m: float | np.ndarray) -> np.ndarray:
    """(n,) whether the distance is at least `clearance_m`, with a tolerance for rounding."""
    return np.sqrt(np.square(place - point).sum(axis=1)) > clearance_m - 1e-6


class Layout:
    """Collects the start poses of n episodes.

    Args:
        entities: the task's entities by name, things first.
    """

    def __init__(self, draw: Draw, count: int, entities: Mapping[str, Entity]):
        self.draw, self.count, self.entities = draw, count, entities
        self._area = getattr(entities, "area", None)
        self._first = next((name for name, entity in entities.items() if isinstance(entity, Thing)), "")
        self._poses: dict[str, np.ndarray] = {}
        self._values: dict[str, np.ndarray] = {}
        self._taken: list[tuple[np.ndarray, np.ndarray | float]] = []
        self._fronts: list[tuple[np.ndarray, float]] = []

    def column(self, name: str, column: str, nominal: float = 0.0) -> np.ndarray:
        """(n,) drawn values of a row for one entity."""
        if name == self._first:
            return self.draw[column]
        row, dot, element = column.partition(".")
        return self.draw.get(f"{row}.{name}{dot}{element}", np.full(self.count, nominal))

    def yaw_rad(self, name: str) -> np.ndarray:
        """(n,) drawn turn of a thing about the vertical."""
        return np.deg2rad(self.column(name, "object_yaw_deg"))

    def offset_m(self, name: str) -> np.ndarray:
        """(n, 2) drawn offset of a thing from its place."""
        return np.column_stack([self.column(name, f"object_position_noise_cm.{axis}") / 100 for axis in "xy"])

    def thing(
        self, name: str, xy_m: tuple[float, float], *, yaw_rad: float = 0.0, up_m: float = 0.0,
        quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0), standing: bool = True,
    ) -> None:  # fmt: skip
        """Put a thing on the table near `xy_m`, turned about the vertical by `yaw_rad` and the drawn yaw.

        Args:
            up_m: height of its lower side above the table.
            quat: its orientation before that turn, e.g. lying on its side.
            standing: keep clear of what has been placed before. False for a thing in or on something.
        """
        extents = self.extents_m(name)
        xy_m, turn_rad = self._on_table(xy_m)
        yaw = yaw_rad + turn_rad + self.yaw_rad(name)
        place = np.empty((self.count, 2))
        for axis, (letter, usual) in enumerate(zip("xy", xy_m, strict=True)):
            place[:, axis] = usual + self.column(name, f"object_position_noise_cm.{letter}") / 100
        # A lying thing is as high as its rotated extents.
        turn = _matrix(quat)
        height = (np.abs(turn[2]) * extents).sum(axis=1)
        radius = np.sqrt(np.square((np.abs(turn[:2])[None] * extents[:, None, :]).sum(axis=2)).sum(axis=1))
        if standing:
            place = self._clear(place, radius)
        poses = np.zeros((self.count, 7))
        poses[:, :2] = place
        poses[:, 2] = self.draw["table_height_cm"] / 100 + height + up_m
        poses[:, 3:] = _product(yaw, quat)
        self._poses[name] = laid(self.draw, poses)

    def extents_m(self, name: str) -> np.ndarray:
        """(n, 3) drawn half extents of a thing."""
        entity = self.entities[name]
        assert isinstance(entity, Thing)
        return half_extents_m(entity.object, row_columns(self.draw, "" if name == self._first else name, self.count))

    def on(self, name: str, base: str, offset_m: np.ndarray, yaw_rad: np.ndarray, *, up_m: float = 0.0) -> None:
        """Put a thing into or onto a fixture that has been placed.

        Args:
            offset_m: (n, 2) from the fixture, along its axes.
            yaw_rad: (n,) turn about the fixture's z axis.
            up_m: height of the thing's lower side above the fixture's frame.
        """
        frame = self._poses[base]
        axes = axes_of(frame[:, 3:])
        height = self.extents_m(name)[:, 2] + up_m
        local = np.column_stack([offset_m, height])
        poses = np.zeros((self.count, 7))
        poses[:, :3] = frame[:, :3] + (axes * local[:, None, :]).sum(axis=2)
        half = yaw_rad / 2
        w, x, y, z = frame[:, 3:].T
        cosine, sine = np.cos(half), np.sin(half)
        poses[:, 3:] = np.column_stack(
            [w * cosine - z * sine, x * cosine + y * sine, y * cosine - x * sine, z * cosine + w * sine]
        )
        self._poses[name] = poses

    def zone(self, name: str, xy_m: tuple[float, float], *, clear_m: float = 0.0, front_m: float = 0.0) -> None:
        """Put a zone on the table near `xy_m`. Things keep `clear_m` away from it.

        Args:
            front_m: how far in front of it the hand of a short arm stays, whose fingers do not point down there.
        """
        xy_m, _ = self._on_table(xy_m, front_m=front_m)
        place = np.empty((self.count, 2))
        for axis, (letter, usual) in enumerate(zip("xy", xy_m, strict=True)):
            place[:, axis] = usual + self.draw[f"target_position_noise_cm.{letter}"] / 100
        if clear_m:
            self._taken.append((place, clear_m))
        self._stand(name, place, 0.0, 0.0)

    def fixture(
        self, name: str, xy_m: tuple[float, float], *, yaw_rad: float = 0.0, up_m: float = 0.0,
        value: float | np.ndarray = 0.0,
    ) -> None:  # fmt: skip
        """Put a fixture on the table.

        Args:
            value: coordinate of its joint.
        """
        entity = self.entities[name]
        assert not isinstance(entity, Thing)
        xy_m, turn_rad = self._on_table(xy_m, front_m=entity.front_m)
        place = np.empty((self.count, 2))
        for axis, (letter, usual) in enumerate(zip("xy", xy_m, strict=True)):
            place[:, axis] = usual + self.draw[f"fixture_position_noise_cm.{letter}"] / 100
        if entity.footprint_m:
            self._taken.append((place, entity.footprint_m))
        yaw = yaw_rad + turn_rad + np.deg2rad(self.draw["fixture_yaw_deg"])
        for share in (0.5, 1.0) if entity.front_m else ():
            # A drawer opens over the table before it.
            ahead = share * entity.front_m * np.column_stack([np.cos(yaw), np.sin(yaw)])
            self._fronts.append((place - ahead, HAND_M))
        self._stand(name, place, yaw, up_m)
        self._values[name] = np.broadcast_to(np.asarray(value, float), (self.count,))

    def _on_table(self, xy_m: tuple[float, float], *, front_m: float = 0.0) -> tuple[tuple[float, float], float]:
        return (xy_m, 0.0) if self._area is None else self._area.place(xy_m, front_m=front_m)

    def way(self, thing: str, to: str, *, behind_m: float) -> None:
        """Keep the straight way of a pushed thing to a place free of bodies that are not part of the task.

        Args:
            behind_m: how far behind the thing the hand begins.
        """
        first, last = (self._poses[name][:, :2] for name in (thing, to))
        way = last - first
        direction = way / np.maximum(np.sqrt(np.square(way).sum(axis=1)), 1e-6)[:, None]
        begin = first - behind_m * direction
        self._fronts += [(begin + share * (last - begin), HAND_M) for share in np.linspace(0, 1, WAY_POINTS)]

    def pose(self, name: str, poses: np.ndarray, *, clear_m: float = 0.0) -> None:
        """Put an entity at (n, 7) poses. Things that are placed later keep `clear_m` away."""
        self._poses[name] = poses
        if clear_m:
            self._taken.append((poses[:, :2], clear_m))

    def at(self, name: str) -> np.ndarray:
        """(n, 7) pose of an entity that has been placed."""
        return self._poses[name]

    def done(self) -> Start:
        poses = {name: self._poses[name] for name in self.entities}
        return Start(poses, self._values, (*self._taken, *self._fronts))

    def _stand(self, name: str, place: np.ndarray, yaw: np.ndarray | float, up_m: float) -> None:
        poses = np.zeros((self.count, 7))
        poses[:, :2] = place
        poses[:, 2] = self.draw["table_height_cm"] / 100 + up_m
        poses[:, 3:] = _product(np.broadcast_to(yaw, (self.count,)), (1.0, 0.0, 0.0, 0.0))
        self._poses[name] = laid(self.draw, poses)

    def _clear(self, place: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Places that keep clear of everything that was placed before."""
        taken = [(point, radius + other + CLEARANCE_M) for point, other in self._taken]
        moved = place
        for _ in range(2):
            for point, clearance_m in taken:
                moved = pushed_away(moved, point, clearance_m)
        free = _is_free(moved, taken)
        # Between two others, pushing away from one may push into the other.
        moved = moved if free.all() else np.where(free[:, None], moved, _nearest_free(place, taken))
        self._taken.append((moved, radius))
        return moved


def _is_free(place: np.ndarray, taken: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(n,) whether a place is clear of all points."""
    return np.logical_and.reduce([np.ones(len(place), bool), *(is_clear(place, *other) for other in taken)])


def _nearest_free(place: np.ndarray, taken: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(n, 2) the first place on the table on growing rings that is clear; the place itself if there is none."""
    out, missing = place.copy(), np.ones(len(place), bool)
    for radius_m in RING_M * np.arange(1, RINGS):
        for angle in np.arange(RING_PLACES) * 2 * np.pi / RING_PLACES:
            candidate = place + radius_m * np.array([np.cos(angle), np.sin(angle)])
            on_table = ((candidate >= LOWEST_XY_M) & (candidate <= HIGHEST_XY_M)).all(axis=1)
            chosen = missing & on_table & _is_free(candidate, taken)
            out[chosen] = candidate[chosen]
            missing &= ~chosen
            if not missing.any():
                return out
    return out


def _matrix(quat: tuple[float, float, float, float]) -> np.ndarray:
    w, x, y, z = quat
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _product(yaw: np.ndarray, quat: tuple[float, float, float, float]) -> np.ndarray:
    """(n, 4) `quat`, then turned about the vertical."""
    cosine, sine = np.cos(yaw / 2), np.sin(yaw / 2)
    w, x, y, z = quat
    return np.column_stack([cosine * w - sine * z, cosine * x - sine * y, cosine * y + sine * x, cosine * z + sine * w])
