"""Wipe: move a gripped pad over the table along a line, to and fro."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.scene import Scene
from twinloop.twin.skills.carry import aligned_axes

PRESS_M = 0.004
"""How far below the table the lower side of the pad is aimed: the force with which the servos press."""
BEYOND_M = 0.02
ABOVE_M = 0.02
SLIPS_M = 0.08
"""A pad that slips less than this between the fingers still wipes."""


def wipe(
    pad: str, first: str, last: str, *, done: Relation, words: str = "", speed_m_s: float = 0.12,
    longest_s: float = 10.0,
) -> tuple[Phase, ...]:  # fmt: skip
    """Wipe from one entity to another until `done` holds.

    Args:
        first, last: entities at the ends of the line, on the table.
    """
    words = words or "wipe along the line"

    def line(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
        """Unit direction and length of the line."""
        way = scene.position(last) - scene.position(first)
        length_m = np.sqrt(np.square(way).sum(axis=1))
        return way / np.maximum(length_m, 1e-6)[:, None], length_m

    def above(scene: Scene, _memory: Memory) -> Target:
        direction, _ = line(scene)
        position = scene.position(first) - BEYOND_M * direction
        position[:, 2] += scene.half_extents_m(pad)[:, 2] + ABOVE_M
        return Target(position, aligned_axes(scene, pad, scene.axes(first), turns=2))

    def onward(scene: Scene, memory: Memory) -> Target:
        direction, length_m = line(scene)
        span = length_m + 2 * BEYOND_M
        # To and fro: a triangle wave between the ends. The offset of the tool from the pad is that of the beginning.
        way = np.abs(np.mod(speed_m_s * memory.elapsed_s + span, 2 * span) - span)
        position = scene.position(first) + (way - BEYOND_M)[:, None] * direction + memory.tool_m - memory.thing_m
        position[:, 2] += scene.half_extents_m(pad)[:, 2] - PRESS_M
        return Target(position, memory.tool_axes)

    return (
        Phase("align", above, words, thing=pad, anchor=first, moves=pad, gripper="closed", carrying=pad, turns=True,
              speed_m_s=0.3, tolerance_m=0.008),
        Phase("wipe", onward, words, thing=pad, gripper="closed", carrying=pad, lost_m=SLIPS_M, funnel=False,
              speed_m_s=2 * speed_m_s, longest_s=longest_s, until=done.holds),
    )  # fmt: skip
