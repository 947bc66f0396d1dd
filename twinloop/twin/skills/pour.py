"""Pour: hold a vessel that is gripped from above over a bowl, tilt it away from the robot, and turn it upright again.

The fingers then point back to the robot. Few wrists can turn them as far up in front of the arm.
"""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation, upright
from twinloop.twin.rotation import about, cross, pointing_down, product
from twinloop.twin.scene import Scene

TILT_RAD_S = 1.0
UPRIGHT_M = 0.06
UP = np.array([0.0, 0.0, 1.0])


def pour(
    vessel: str, into: str, *, done: Relation, before_m: float = 0.03, height_m: float = 0.14, most_rad: float = 2.15,
    words: str = "",
) -> tuple[Phase, ...]:  # fmt: skip
    """Pour until `done` holds.

    Args:
        into: entity or frame to pour into.
        before_m: horizontal distance of the tool from `into`, on the robot's side.
        height_m: height of the tool above `into`.
        most_rad: largest tilt.
    """
    words = words or f"pour the {{{vessel}}} into the {{{into.partition('.')[0]}}}"

    def heading(scene: Scene) -> np.ndarray:
        """(n,) yaw of the way from the arm's first joint to `into`."""
        way = scene.position(into) - scene.shoulder_m
        return np.arctan2(way[:, 1], way[:, 0])

    def over(scene: Scene, angle: np.ndarray) -> np.ndarray:
        yaw = heading(scene)
        # An upright vessel reaches farther down than a tilted one.
        up = height_m + UPRIGHT_M * np.maximum(np.cos(angle), 0)
        return scene.position(into) + np.stack([-before_m * np.cos(yaw), -before_m * np.sin(yaw), up], axis=1)

    def level(scene: Scene, memory: Memory) -> Target:
        return Target(over(scene, np.zeros_like(memory.elapsed_s)), pointing_down(heading(scene)))

    def tilted(scene: Scene, memory: Memory) -> Target:
        # A target that moves: a large turn at once would make the grains fly.
        yaw = heading(scene)
        across = cross(UP, np.stack([np.cos(yaw), np.sin(yaw), np.zeros(len(yaw))], axis=1))
        angle = np.minimum(TILT_RAD_S * memory.elapsed_s, most_rad)
        return Target(over(scene, angle), product(about(across, angle), pointing_down(yaw)))

    return (
        Phase("over", level, words, thing=vessel, anchor=into, gripper="closed", carrying=vessel, turns=True,
              funnel=False, speed_m_s=0.3, tolerance_m=0.015, longest_s=6.0),
        Phase("tilt", tilted, words, thing=vessel, gripper="closed", funnel=False, until=done.holds, longest_s=8.0,
              noise=0.5, leans_rad=most_rad),
        Phase("untilt", level, words, thing=vessel, gripper="closed", funnel=False, longest_s=6.0,
              until=upright(vessel, within_rad=0.2).holds),
    )  # fmt: skip
