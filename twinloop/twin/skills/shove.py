"""Shove: push a part of a fixture with closed fingers along a direction, e.g. a drawer shut."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.rotation import pointing_down, rotated
from twinloop.twin.scene import Scene
from twinloop.twin.skills.lift import raised

BEFORE_M, ABOVE_M, LEAD_M = 0.05, 0.08, 0.06


def shove(
    frame: str, *, along: tuple[float, float, float], done: Relation, words: str = "", longest_s: float = 6.0
) -> tuple[Phase, ...]:
    """Push at a frame until `done` holds.

    Args:
        along: direction of the push in the frame of the fixture.
    """
    fixture = frame.partition(".")[0]
    words = words or f"push the {{{fixture}}}"

    def direction(scene: Scene) -> np.ndarray:
        return rotated(scene.axes(fixture), np.array(along))

    def axes(scene: Scene) -> np.ndarray:
        way = direction(scene)
        return pointing_down(np.arctan2(way[:, 1].copy(), way[:, 0].copy()))

    def before(height_m: float):
        def target(scene: Scene, _memory: Memory) -> Target:
            position = scene.position(frame) - BEFORE_M * direction(scene)
            position[:, 2] += height_m
            return Target(position, axes(scene))

        return target

    def onward(scene: Scene, memory: Memory) -> Target:
        way = direction(scene)
        # Along a line through the frame, so that the tool does not slide off it.
        off = scene.tool_position - scene.position(frame)
        off -= (off * way).sum(axis=1)[:, None] * way
        off[:, 2] = 0
        position = scene.tool_position + LEAD_M * way - off
        position[:, 2] = memory.tool_m[:, 2]
        return Target(position, axes(scene))

    closed = {"thing": frame, "gripper": "closed", "tips": True}
    return (
        Phase("approach", before(ABOVE_M), words, anchor=frame, turns=True, tolerance_m=0.02, **closed),
        Phase("descend", before(0.0), words, anchor=frame, turns=True, speed_m_s=0.25, tolerance_m=0.015, **closed),
        Phase("shove", onward, words, until=done.holds, funnel=False, speed_m_s=0.15, longest_s=longest_s, **closed),
        Phase("retreat", raised(0.1), words, gripper="closed", tips=True, relative=True, speed_m_s=0.3,
              tolerance_m=0.03),
    )  # fmt: skip
