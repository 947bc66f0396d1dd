"""Insert: lower a gripped thing into a hole, compliant because the arm gives way to a force, with a search.

A thing that is dragged over the rim tilts between the fingers. So the search lifts it off the rim, moves it aside and
lowers it again, at places on a spiral.
"""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.scene import Scene
from twinloop.twin.skills.carry import aligned_axes
from twinloop.twin.skills.retreat import retreat

SEARCH_AFTER_S, TRIAL_S, LIFTED_S = 1.2, 1.0, 0.4
"""When the search begins, how long it tries one place, and the part of that time in which the thing is off the rim."""
LIFT_M = 0.004
SPIRAL_M, GROWS_M, GOLDEN_RAD = 0.002, 0.0003, 2.4
"""Largest radius of the spiral, and by how much radius and angle grow from one place to the next."""
PRESS_M = 0.01
"""How far below its present height the tip is aimed."""
PRESS_N = 35.0
"""Less than friction holds in most grips, so that the thing does not slide up between the fingers."""
INSIDE_M = 0.003
NOISE = 0.15


def insert(
    thing: str, tip: str, hole: str, *, depth_m: float, done: Relation, align_m: float = 0.012, turns: int = 1,
    words: str = "", longest_s: float = 13.0, stalls_s: float = 0.0,
) -> tuple[Phase, ...]:  # fmt: skip
    """Bring the tip of a thing above a hole, press down, and search until `done` holds.

    Args:
        tip: frame at the lower end of the thing.
        hole: frame at the opening of the hole, whose z axis points out of it.
        depth_m: how deep the tip goes.
        align_m: height above the hole at which the tip is lined up.
        turns: how often the thing fits in a full turn: 4 for a square peg.
        stalls_s: begin to search after this time, even if the tip is not lined up; 0 for never.
    """
    words = words or f"insert the {{{thing}}}"

    def above(scene: Scene, _memory: Memory) -> Target:
        position = scene.position(hole).copy()
        position[:, 2] += align_m
        return Target(position, aligned_axes(scene, thing, scene.axes(hole), turns=turns))

    def down(scene: Scene, memory: Memory) -> Target:
        position, tip_m = scene.position(hole).copy(), scene.position(tip)
        depth = position[:, 2] - tip_m[:, 2]
        inside = depth > INSIDE_M
        trial, within = np.divmod(np.maximum(memory.elapsed_s - SEARCH_AFTER_S, 0), TRIAL_S)
        searching = (memory.elapsed_s > SEARCH_AFTER_S) & ~inside
        radius = np.where(searching, np.minimum(GROWS_M * trial, SPIRAL_M), 0.0)
        position[:, 0] += radius * np.cos(GOLDEN_RAD * trial)
        position[:, 1] += radius * np.sin(GOLDEN_RAD * trial)
        # The hole holds the tip, so the hand brings the middle of the thing above it: the thing becomes upright.
        position[:, :2] += np.where(inside[:, None], (tip_m - scene.position(thing))[:, :2], 0.0)
        lifted = searching & (within < LIFTED_S)
        position[:, 2] -= np.where(lifted, -LIFT_M, np.minimum(depth + PRESS_M, depth_m))
        # The thing may tilt in the fingers, so the hand keeps the orientation of the beginning.
        return Target(position, memory.tool_axes)

    return (
        Phase("align", above, words, thing=thing, anchor=hole, moves=tip, gripper="closed", carrying=thing, turns=True,
              speed_m_s=0.15, tolerance_m=0.002, shortest_s=0.5, longest_s=6.0, stalls_s=stalls_s, noise=NOISE),
        Phase("insert", down, words, thing=thing, anchor=hole, moves=tip, gripper="closed", carrying=thing,
              funnel=False, speed_m_s=0.03, press_n=PRESS_N, longest_s=longest_s, until=done.holds, noise=NOISE),
        *retreat(thing, words=words),
    )  # fmt: skip
