"""Lay: put a hanging cloth down flat. Its lower edge touches first, then the hand moves on across it and down."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import pointing_down, rotated, yaw_of
from twinloop.twin.scene import Scene
from twinloop.twin.skills.retreat import retreat

CLEAR_M, ASIDE_M = 0.028, 0.09
"""Height of the tool at the end, and how far the hand moves aside so that no finger is below the cloth. Fingers may
reach 2 cm beyond the tool; lower ones would drag the cloth over the table when they open."""


def lay(
    cloth: str, on: str, *, length_m: float, clear_m: float = CLEAR_M, level: bool = True, words: str = ""
) -> tuple[Phase, ...]:
    """Lay a cloth so that its middle is on a place.

    Args:
        length_m: length of the cloth below the fingers.
        clear_m: height of the tool at which it lets go.
        level: point the hand straight down, even if the cloth was gripped by a hand that leant.
    """
    words = words or f"lay the {{{cloth}}} down"

    def aside(scene: Scene) -> np.ndarray:
        """Unit vector across the cloth: the closing direction of the fingers."""
        return rotated(scene.tool_axes, np.array([0.0, 1.0, 0.0]))

    def at(share: float, height_m: float):
        def target(scene: Scene, _memory: Memory) -> Target:
            position = scene.position(on) + share * length_m * aside(scene)
            position[:, 2] = scene.position(on)[:, 2] + height_m
            # A cloth that leans in its holder is gripped by a hand that leans too.
            return Target(position, pointing_down(yaw_of(scene.tool_axes)) if level else None)

        return target

    def beyond(scene: Scene, memory: Memory) -> Target:
        return Target(memory.tool_m + ASIDE_M * aside(scene))

    release, up = retreat(words=words)
    return (
        Phase("over", at(-0.5, length_m + 0.02), words, thing=cloth, anchor=on, gripper="closed", speed_m_s=0.3,
              tolerance_m=0.015),
        Phase("lay", at(0.5, clear_m), words, thing=cloth, anchor=on, gripper="closed", funnel=False, speed_m_s=0.12,
              tolerance_m=0.015),
        release,
        Phase("withdraw", beyond, words, relative=True, funnel=False, speed_m_s=0.2, tolerance_m=0.02),
        up,
    )  # fmt: skip
