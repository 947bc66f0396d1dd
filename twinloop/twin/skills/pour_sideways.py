"""Pour sideways: hold a vessel that is gripped from the side over a bowl, and roll the hand about its approach.

For arms whose wrist rolls far but does not lean the hand back, as `pour` does.
"""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation, upright
from twinloop.twin.rotation import about, cross, product
from twinloop.twin.scene import Scene

ROLL_RAD_S = 1.0


def pour_sideways(
    vessel: str, into: str, *, done: Relation, height_m: float, most_rad: float = 2.6, words: str = "",
) -> tuple[Phase, ...]:  # fmt: skip
    """Pour until `done` holds.

    Args:
        into: entity or frame to pour into.
        height_m: height of the tool above `into`.
        most_rad: largest roll.
    """
    words = words or f"pour the {{{vessel}}} into the {{{into.partition('.')[0]}}}"

    def outwards(scene: Scene, memory: Memory) -> np.ndarray:
        """(n, 3) direction of the hand: away from the robot, and as far down as in the grip of the upright vessel."""
        way = scene.position(into) - scene.shoulder_m
        yaw, down = np.arctan2(way[:, 1], way[:, 0]), memory.grip_axes[:, 2, 2]
        flat = np.sqrt(np.maximum(1 - down * down, 1e-6))
        return np.stack([flat * np.cos(yaw), flat * np.sin(yaw), down], axis=1)

    def level_axes(scene: Scene, memory: Memory) -> np.ndarray:
        approach = outwards(scene, memory)
        closing = np.stack([approach[:, 1], -approach[:, 0], np.zeros(len(approach))], axis=1)
        closing /= np.sqrt(np.square(closing).sum(axis=1))[:, None]
        return np.stack([cross(closing, approach), closing, approach], axis=2)

    def above(scene: Scene) -> np.ndarray:
        position = scene.position(into).copy()
        position[:, 2] += height_m
        return position

    def level(scene: Scene, memory: Memory) -> Target:
        return Target(above(scene), level_axes(scene, memory))

    def rolled(scene: Scene, memory: Memory) -> Target:
        # A target that moves: a large turn at once would make the grains fly.
        angle = np.minimum(ROLL_RAD_S * memory.elapsed_s, most_rad)
        return Target(above(scene), product(about(outwards(scene, memory), angle), level_axes(scene, memory)))

    return (
        Phase("over", level, words, thing=vessel, anchor=into, gripper="closed", carrying=vessel, turns=True,
              funnel=False, speed_m_s=0.3, tolerance_m=0.015, longest_s=6.0),
        Phase("tilt", rolled, words, thing=vessel, gripper="closed", funnel=False, until=done.holds, longest_s=8.0,
              noise=0.5),
        Phase("untilt", level, words, thing=vessel, gripper="closed", funnel=False, longest_s=6.0,
              until=upright(vessel, within_rad=0.2).holds),
    )  # fmt: skip
