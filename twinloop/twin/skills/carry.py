"""Carry: bring a gripped thing to a point above a place."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import dot, product, rotated, transposed
from twinloop.twin.scene import Scene

Point = tuple[float, float, float]
CENTRE: Point = (0.0, 0.0, 0.0)


def carry(
    thing: str,
    to: str,
    *,
    height_m: float = 0.1,
    offset_m: Point = CENTRE,
    aligned: bool = False,
    turns: int = 1,
    words: str = "",
    speed_m_s: float = 0.45,
    tolerance_m: float = 0.025,
    longest_s: float = 4.0,
) -> tuple[Phase, ...]:
    """Bring a thing to `height_m` above where it would rest on a place.

    Args:
        offset_m: from the place, along the axes of the place.
        aligned: turn the thing so that its axes are those of the place.
        turns: how often an aligned thing fits in a full turn.
    """
    return (
        Phase("transfer", resting_at(thing, to, height_m, offset_m, aligned=aligned, turns=turns),
              words or f"carry the {{{thing}}} to the {{{to.partition('.')[0]}}}", thing=thing, anchor=to, moves=thing,
              gripper="closed", carrying=thing, turns=aligned, speed_m_s=speed_m_s, tolerance_m=tolerance_m,
              longest_s=longest_s),
    )  # fmt: skip


def resting_at(
    thing: str, to: str, height_m: float, offset_m: Point = CENTRE, *, aligned: bool = False, turns: int = 1
):
    """Target: the centre of a thing, this high above where it would rest on a place or on another thing."""
    offset = np.array(offset_m)

    def target(scene: Scene, _memory: Memory) -> Target:
        frame = scene.axes(to)
        position = scene.position(to) + rotated(frame, offset) if offset.any() else scene.position(to).copy()
        half = dot(np.abs(scene.axes(thing)[:, 2, :]), scene.half_extents_m(thing))
        position[:, 2] += half + scene.rest_height_m(to) + height_m
        return Target(position, aligned_axes(scene, thing, frame, turns=turns) if aligned else None)

    return target


def aligned_axes(scene: Scene, thing: str, frame: np.ndarray, *, turns: int = 1) -> np.ndarray:
    """(n, 3, 3) axes of the tool at which the gripped thing has the axes of `frame`.

    Args:
        turns: how often the thing fits in a full turn about the z axis of `frame`; the nearest is taken.
    """
    now = scene.axes(thing)
    nearest = frame if turns == 1 else _nearest_turn(frame, now, turns)
    return product(nearest, product(transposed(now), scene.tool_axes))


def _nearest_turn(frame: np.ndarray, now: np.ndarray, turns: int) -> np.ndarray:
    """(n, 3, 3) axes of `frame`, turned about their z axis by the multiple of a turn / `turns` nearest to `now`."""
    x, y = frame[:, :, 0], frame[:, :, 1]
    # The angle about z by which the trace of the product with `now` is largest.
    ahead = dot(x, now[:, :, 0]) + dot(y, now[:, :, 1])
    aside = dot(y, now[:, :, 0]) - dot(x, now[:, :, 1])
    number = np.round(np.arctan2(aside, ahead) * turns / (2 * np.pi)).astype(int) % turns
    angles = 2 * np.pi * np.arange(turns) / turns
    cosine, sine = np.cos(angles)[number, None], np.sin(angles)[number, None]
    out = np.empty_like(frame)
    out[:, :, 0], out[:, :, 1], out[:, :, 2] = cosine * x + sine * y, cosine * y - sine * x, frame[:, :, 2]
    return out
