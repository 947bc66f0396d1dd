"""Pull: move a gripped handle along the axis or arc of its fixture's joint, to a coordinate. Also pushes it back."""

from typing import Literal

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.relations import Relation
from twinloop.twin.rotation import about, product, rotated
from twinloop.twin.scene import Scene

LEAD = {"slide": 0.05, "hinge": 0.2}
"""How far ahead of the present coordinate the handle is aimed, in metres or radians."""


def pull(
    handle: str,
    *,
    joint: Literal["slide", "hinge"],
    axis: tuple[float, float, float],
    to: float,
    done: Relation,
    hinge: str = "",
    words: str = "",
    gripper: Literal["open", "closed"] = "closed",
    speed_m_s: float = 0.15,
    longest_s: float = 8.0,
) -> tuple[Phase, ...]:
    """Move a handle until `done` holds.

    Args:
        handle: frame of a fixture, e.g. `drawer.handle`.
        axis: of the joint, in the frame of the fixture.
        to: coordinate to aim at.
        hinge: frame on the axis of a hinge.
    """
    fixture = handle.partition(".")[0]
    words = words or f"pull the {{{fixture}}}"
    unit = np.array(axis)

    def onward(scene: Scene, memory: Memory) -> Target:
        value = scene.value(fixture)
        ahead = np.clip(to - value, -LEAD[joint], LEAD[joint])
        world_axis = rotated(scene.axes(fixture), unit)
        grip = scene.tool_position
        if joint == "slide":
            return Target(grip + ahead[:, None] * world_axis, memory.tool_axes)
        turn = about(world_axis, ahead)
        centre = scene.position(hinge)
        # The tool turns with the door, as far as it has moved since the phase began.
        return Target(centre + rotated(turn, grip - centre), product(turn, scene.tool_axes))

    return (
        Phase("pull", onward, words, thing=handle, gripper=gripper, funnel=False,
              carrying=handle if gripper == "closed" else "", speed_m_s=speed_m_s,
              longest_s=longest_s, until=done.holds),
    )  # fmt: skip
