"""Insert: lower a gripped thing into a hole with a spiral search, compliant because the servos are."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.scene import Scene
from twinloop.twin.skills.carry import aligned_axes
from twinloop.twin.skills.retreat import retreat

SEARCH_AFTER_S = 0.5
SPIRAL_M = 0.003
TURNS_PER_S = 1.3
GROWS_M_S = 0.0006
PRESS_M = 0.01
"""How far below its present height the tip is aimed: the force with which the servos press."""
INSIDE_M = 0.003


def insert(
    thing: str, tip: str, hole: str, *, depth_m: float, done: Relation, align_m: float = 0.012, turns: int = 1,
    words: str = "", longest_s: float = 10.0,
) -> tuple[Phase, ...]:  # fmt: skip
    """Bring the tip of a thing above a hole, press down, and search in a spiral until `done` holds.

    Args:
        tip: frame at the lower end of the thing.
        hole: frame at the opening of the hole, whose z axis points out of it.
        depth_m: how deep the tip goes.
        align_m: height above the hole at which the tip is lined up.
        turns: how often the thing fits in a full turn: 4 for a square peg.
    """
    words = words or f"insert the {{{thing}}}"

    def above(scene: Scene, _memory: Memory) -> Target:
        position = scene.position(hole).copy()
        position[:, 2] += align_m
        return Target(position, aligned_axes(scene, thing, scene.axes(hole), turns=turns))

    def down(scene: Scene, memory: Memory) -> Target:
        # The thing may tilt in the fingers, so the hand keeps the orientation of the beginning.
        position = scene.position(hole).copy()
        searching = np.maximum(memory.elapsed_s - SEARCH_AFTER_S, 0)
        depth = position[:, 2] - scene.position(tip)[:, 2]
        radius = np.where(depth > INSIDE_M, 0.0, np.minimum(GROWS_M_S * searching, SPIRAL_M))
        angle = 2 * np.pi * TURNS_PER_S * searching
        position[:, 0] += radius * np.cos(angle)
        position[:, 1] += radius * np.sin(angle)
        position[:, 2] -= np.minimum(depth + PRESS_M, depth_m)
        return Target(position, memory.tool_axes)

    return (
        Phase("align", above, words, thing=thing, anchor=hole, moves=tip, gripper="closed", carrying=thing, turns=True,
              speed_m_s=0.15, tolerance_m=0.002, shortest_s=0.5, longest_s=6.0, noise=0.3),
        Phase("insert", down, words, thing=thing, anchor=hole, moves=tip, gripper="closed", carrying=thing,
              funnel=False, speed_m_s=0.06, longest_s=longest_s, until=done.holds, noise=0.3),
        *retreat(thing, words=words),
    )  # fmt: skip
