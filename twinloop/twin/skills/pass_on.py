"""Pass from hand to hand: one arm holds a thing out, the other grips it, and the first one lets go."""

from collections.abc import Mapping

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.scene import Scene
from twinloop.twin.skills.carry import CENTRE, Point, aligned_axes
from twinloop.twin.skills.grasp import grasp
from twinloop.twin.skills.hold import hold
from twinloop.twin.skills.retreat import retreat

ACROSS = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of a thing that is held out: its x axis points to the left side of the table."""
BESIDE_M, ABOVE_M = 0.1, 0.08


def pass_on(
    thing: str,
    *,
    giver: str,
    taker: str,
    at_m: tuple[float, float],
    height_m: float,
    offset_m: Point,
    along: Point = CENTRE,
    tilt_rad: float = 0.0,
) -> tuple[Mapping[str, tuple[Phase, ...]], ...]:
    """Steps of a program for two arms, of which the giver holds the thing at the beginning.

    Args:
        at_m, height_m: where they meet, and its height above the table.
        offset_m: from the centre of the thing to where the taker grips it, along the axes of the thing.
        along, tilt_rad: how the taker's hand leans. See `grasp`.
    """
    words = f"pass the {{{thing}}} from hand to hand"
    return (
        {giver: _hold_out(thing, at_m, height_m, words), taker: _get_ready(at_m, height_m, offset_m, words)},
        {giver: hold(thing), taker: grasp(thing, offset_m=offset_m, along=along, tilt_rad=tilt_rad, words=words)},
        {giver: retreat(thing, by_m=0.1, words=words), taker: hold(thing)},
    )


def _get_ready(at_m: tuple[float, float], height_m: float, offset_m: Point, words: str) -> tuple[Phase, ...]:
    """Wait above and beside the place where the thing will be gripped."""
    beside_m = at_m[1] + offset_m[0] + np.sign(offset_m[0]) * BESIDE_M

    def waiting(scene: Scene, _memory: Memory) -> Target:
        count = len(scene.tool_position)
        flat = np.tile([at_m[0], beside_m], (count, 1))
        return Target(np.column_stack([flat, scene.table_height_m + height_m + ABOVE_M]))

    return (Phase("get_ready", waiting, words, speed_m_s=0.35, tolerance_m=0.03),)


def _hold_out(thing: str, at_m: tuple[float, float], height_m: float, words: str) -> tuple[Phase, ...]:
    def meeting(scene: Scene, _memory: Memory) -> Target:
        count = len(scene.tool_position)
        position = np.column_stack([np.tile(at_m, (count, 1)), scene.table_height_m + height_m])
        axes = np.broadcast_to(ACROSS, (count, 3, 3))
        return Target(position, aligned_axes(scene, thing, axes))

    return (
        Phase("hold_out", meeting, words, thing=thing, moves=thing, gripper="closed", carrying=thing, turns=True,
              speed_m_s=0.35, tolerance_m=0.015, longest_s=6.0),
    )  # fmt: skip
