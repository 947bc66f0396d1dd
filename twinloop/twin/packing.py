"""Packing: start poses of things side by side in a rectangle, in another arrangement in each episode."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from twinloop.twin.halton import halton

TRIES = 160


@cache
def _candidates() -> np.ndarray:
    """(TRIES, 3) places and turns that are tried one after the other, in the unit cube."""
    return halton(TRIES + 1, 3)[1:]


def packed(
    half_m: Sequence[np.ndarray], shift: Sequence[np.ndarray], order: np.ndarray, *, inside_m: tuple[float, float],
    gap_m: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(n, things, 2) places about the middle of the rectangle and (n, things) yaws.

    A thing takes the first candidate at which it is inside and `gap_m` away from all that were placed before; without
    one, the candidate that is farthest from them.

    Args:
        half_m: of each thing (n, 2) half extents, along its own axes.
        shift: of each thing (n, 3) numbers from 0 to 1 by which its candidates are moved. They make episodes differ.
        order: (n, things) numbers; the thing with the smallest is placed first.
        inside_m: half extents of the rectangle.
    """
    count, things = order.shape
    rank = np.argsort(order, axis=1, kind="stable")
    half, moved = np.stack(half_m, axis=1), np.stack(shift, axis=1)
    rows = np.arange(count)
    place, yaw = np.zeros((count, things, 2)), np.zeros((count, things))
    for turn in range(things):
        thing = rank[:, turn]
        tried = (_candidates()[None] + moved[rows, thing][:, None]) % 1
        angle = np.pi * (2 * tried[:, :, 2] - 1)
        own = half[rows, thing][:, None]
        reach = _reach(angle, own)
        room = np.maximum(np.array(inside_m) - reach, 0)
        centre = (2 * tried[:, :, :2] - 1) * room
        apart = np.full((count, TRIES), np.inf)
        for earlier in range(turn):
            other = rank[:, earlier]
            apart = np.minimum(
                apart,
                _separation(centre, angle, own, place[rows, other][:, None], yaw[rows, other][:, None],
                            half[rows, other][:, None]),
            )  # fmt: skip
        clear = apart >= gap_m
        best = np.where(clear.any(axis=1), clear.argmax(axis=1), apart.argmax(axis=1))
        place[rows, thing], yaw[rows, thing] = centre[rows, best], angle[rows, best]
    return place, yaw


def _reach(yaw: np.ndarray, half: np.ndarray) -> np.ndarray:
    """(..., 2) half extents of turned rectangles along the axes of the world."""
    cosine, sine = np.abs(np.cos(yaw)), np.abs(np.sin(yaw))
    return np.stack([cosine * half[..., 0] + sine * half[..., 1], sine * half[..., 0] + cosine * half[..., 1]], axis=-1)


def _separation(
    place: np.ndarray, yaw: np.ndarray, half: np.ndarray, other: np.ndarray, other_yaw: np.ndarray,
    other_half: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Gap between two turned rectangles along the best of their four axes; negative where they overlap."""
    offset = place - other
    gaps = []
    for angle in (yaw, yaw + np.pi / 2, other_yaw, other_yaw + np.pi / 2):
        along = np.abs(offset[..., 0] * np.cos(angle) + offset[..., 1] * np.sin(angle))
        gaps.append(along - _reach(yaw - angle, half)[..., 0] - _reach(other_yaw - angle, other_half)[..., 0])
    return np.max(gaps, axis=0)
