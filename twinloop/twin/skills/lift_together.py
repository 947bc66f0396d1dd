"""Lift together: each of two hands raises its side of a thing, so that the thing stays level."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import about_z, inverse_rotated, rotated, yaw_of
from twinloop.twin.scene import Scene

TOLERANCE_M = 0.015
LEAD_M = 0.03
"""A hand is at most this far ahead of where the thing as a whole is."""


def lift_together(thing: str, handle: str, *, by_m: float = 0.1, speed_m_s: float = 0.2) -> tuple[Phase, ...]:
    """Raise a thing that another arm raises too.

    The target of a hand is where its handle would be if the thing were level, a little higher than it is now. So a hand
    that is ahead waits for the other one.

    Args:
        handle: frame of the thing that this hand has gripped.
    """

    def level(scene: Scene, memory: Memory) -> Target:
        now, start = scene.position(thing), memory.thing_m
        rise = np.minimum(now[:, 2] - start[:, 2] + LEAD_M, by_m)
        in_thing = inverse_rotated(scene.axes(thing), scene.position(handle) - now)
        position = start + rotated(about_z(yaw_of(memory.thing_axes)), in_thing)
        position[:, 2] += rise
        return Target(position)

    def raised(scene: Scene) -> np.ndarray:
        bottom_m = scene.position(thing)[:, 2] - scene.rest_height_m(thing) - scene.table_height_m
        return bottom_m > by_m - TOLERANCE_M

    return (
        Phase("lift", level, f"lift the {{{thing}}}", thing=thing, gripper="closed", moves=handle, carrying=handle,
              until=raised, relative=True, funnel=False, speed_m_s=speed_m_s),
    )  # fmt: skip
