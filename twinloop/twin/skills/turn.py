"""Turn: rotate a gripped knob about its vertical axis, with regrasps where the wrist's range ends."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.rotation import about_z, product
from twinloop.twin.scene import Scene

LEAD_RAD = 0.25


def turn(knob: str, *, to_rad: float, done: Relation, words: str = "") -> tuple[Phase, ...]:
    """Turn a gripped knob until `done` holds.

    Args:
        to_rad: coordinate of the knob's joint to aim at.
    """
    words = words or f"turn the {{{knob}}}"

    def onward(scene: Scene, memory: Memory) -> Target:
        ahead = np.clip(to_rad - scene.value(knob), -LEAD_RAD, LEAD_RAD)
        return Target(memory.tool_m.copy(), product(about_z(ahead), scene.tool_axes))

    return (
        Phase("turn", onward, words, thing=knob, gripper="closed", funnel=False, longest_s=10.0,
              until=done.holds),
    )  # fmt: skip
