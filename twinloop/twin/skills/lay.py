"""Lay: put a hanging cloth down flat. Its lower edge touches first, then the hand moves on across it and down."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import dot, pointing_down, rotated, yaw_of
from twinloop.twin.scene import Scene
from twinloop.twin.skills.retreat import retreat

CLEAR_M, ASIDE_M = 0.028, 0.09
"""Height of the tool at the end, and how far the hand moves aside so that no finger is below the cloth. Fingers may
reach 2 cm beyond the tool; lower ones would drag the cloth over the table when they open."""
LEAD_M, NEAR_M = 0.03, 0.02
"""How far ahead of the hand its target on the arc is, and how far above the arc a hand only moves down."""


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

    def arc(scene: Scene, _memory: Memory) -> Target:
        # About the edge that touches the table. On a straight way down the cloth would be slack, and one that sticks to
        # the table would fold under the hand.
        across = aside(scene)
        first = scene.position(on) - 0.5 * length_m * across
        offset = scene.tool_position - first
        gone = np.clip(dot(offset, across), 0.0, length_m)
        above = offset[:, 2] - np.sqrt(length_m**2 - gone**2)
        # First down to the arc, then along it.
        ahead = np.minimum(gone + LEAD_M * np.clip(1 - above / NEAR_M, 0, 1), length_m)
        position = first + ahead[:, None] * across
        position[:, 2] = scene.position(on)[:, 2] + np.maximum(np.sqrt(length_m**2 - ahead**2), clear_m)
        return Target(position, pointing_down(yaw_of(scene.tool_axes)) if level else None)

    def beyond(scene: Scene, memory: Memory) -> Target:
        return Target(memory.tool_m + ASIDE_M * aside(scene))

    release, up = retreat(words=words)
    return (
        Phase("over", at(-0.5, length_m + 0.02), words, thing=cloth, anchor=on, gripper="closed", tips=True,
              speed_m_s=0.3, tolerance_m=0.015),
        Phase("lay", arc, words, thing=cloth, anchor=on, gripper="closed", tips=True, funnel=False, speed_m_s=0.12,
              tolerance_m=0.015),
        release,
        Phase("withdraw", beyond, words, relative=True, funnel=False, speed_m_s=0.2, tolerance_m=0.02),
        up,
    )  # fmt: skip
