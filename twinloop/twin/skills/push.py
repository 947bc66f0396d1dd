"""Push: slide a thing over the table to a place with closed fingers. The line of the push is corrected all the time."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.rotation import nearer_half_turn, pointing_down
from twinloop.twin.scene import Scene
from twinloop.twin.skills.lift import raised

BEHIND_M = 0.05
FINGER_M = 0.012
ABOVE_M = 0.08
STRAY = 1.5
"""How strongly the tool moves sideways to bring thing and goal back in line."""


def push(thing: str, to: str, *, done: Relation, words: str = "") -> tuple[Phase, ...]:
    """Push a thing to a place."""
    words = words or f"push the {{{thing}}} to the {{{to}}}"

    def line(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
        """Unit direction of the push, and distance."""
        way = scene.position(to) - scene.position(thing)
        way[:, 2] = 0
        distance = np.sqrt(np.square(way).sum(axis=1))
        return way / np.maximum(distance, 1e-6)[:, None], distance

    def across(scene: Scene, direction: np.ndarray) -> np.ndarray:
        """Tool axes with the fingers side by side across the push."""
        axes = pointing_down(np.arctan2(direction[:, 1].copy(), direction[:, 0].copy()))
        return nearer_half_turn(axes, scene.tool_axes)

    def height_m(scene: Scene) -> np.ndarray:
        """(n,) height of the fingertips: half that of the thing."""
        return scene.table_height_m + np.minimum(scene.half_extents_m(thing)[:, 2], 0.03)

    def start(scene: Scene, gap_m: float, above_m: float) -> tuple[np.ndarray, np.ndarray]:
        direction, _ = line(scene)
        half = scene.half_extents_m(thing)
        radius = np.sqrt(np.square(half[:, :2]).sum(axis=1))
        position = scene.position(thing) - direction * (radius + gap_m)[:, None]
        position[:, 2] = height_m(scene) + above_m
        return position, across(scene, direction)

    def above(scene: Scene, _memory: Memory) -> Target:
        return Target(*start(scene, BEHIND_M, ABOVE_M))

    def behind(scene: Scene, _memory: Memory) -> Target:
        return Target(*start(scene, BEHIND_M - FINGER_M, 0.0))

    def onward(scene: Scene, _memory: Memory) -> Target:
        direction, distance = line(scene)
        offset = scene.tool_position - scene.position(thing)
        offset[:, 2] = 0
        along = (offset * direction).sum(axis=1)
        # The tool's own distance from the line through thing and goal, which it steers back to.
        stray = offset - along[:, None] * direction
        reach = np.minimum(distance, 0.08) + np.maximum(-along, 0)
        position = scene.tool_position + direction * reach[:, None] - STRAY * stray
        position[:, 2] = height_m(scene)
        return Target(position, across(scene, direction))

    def passed(scene: Scene) -> np.ndarray:
        """(n,) whether the fingers have slid past the thing."""
        direction, _ = line(scene)
        ahead = scene.position(thing) - scene.tool_position
        ahead[:, 2] = 0
        return (ahead * direction).sum(axis=1) < 0

    closed = {"thing": thing, "gripper": "closed", "tips": True}
    return (
        Phase("approach", above, words, anchor=thing, turns=True, tolerance_m=0.02, **closed),
        Phase("descend", behind, words, anchor=thing, turns=True, speed_m_s=0.2, tolerance_m=0.012, **closed),
        Phase("push", onward, words, speed_m_s=0.12, funnel=False, longest_s=8.0, until=done.holds, lost=passed,
              retry="approach", **closed),
        Phase("retreat", raised(0.1), words, gripper="closed", tips=True, relative=True, speed_m_s=0.3,
              tolerance_m=0.03),
    )  # fmt: skip
