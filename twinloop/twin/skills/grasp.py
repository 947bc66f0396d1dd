"""Grasp a thing or a handle: choose a grip, come near along the approach, move in, and close the fingers."""

from typing import Literal

import numpy as np

from twinloop.twin.phase import FingerRoom, GripChoice, Memory, Phase, Target
from twinloop.twin.rotation import product, rotated
from twinloop.twin.scene import Scene

APPROACH_M = 0.09
IN_TOOL = np.array([0.0, 0.0, -1.0])
"""Backwards along the approach, in the tool's frame."""


def grasp(
    thing: str,
    *,
    approach: Literal["top", "side", "frame"] = "top",
    raise_m: float = 0.0,
    offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
    along: tuple[float, float, float] = (0.0, 0.0, 0.0),
    tilt_rad: float = 0.0,
    room: FingerRoom | None = None,
    turn_rad: float = 0.0,
    approach_m: float = APPROACH_M,
    words: str = "",
    speed_m_s: float = 0.45,
    tolerance_m: float = 0.006,
    press_n: float = 0.0,
) -> tuple[Phase, ...]:
    """Close the fingers on a thing, or on a frame of a fixture or thing (`drawer.handle`).

    Args:
        approach: where the tool comes from: above, the robot's side, or along the z axis of the frame.
        raise_m: grip this far from the centre of the thing, towards the hand.
        offset_m: grip this far from the centre, along the axes of the thing.
        along: direction in the frame of the thing that the tool's x axis is to have.
        tilt_rad: turn the tool about its closing direction, towards `along`.
        room: what the open fingers must keep clear of.
        turn_rad: angle about the vertical by which the program turns a frame after it is gripped.
        approach_m: distance from the grip at which the tool lines up.
        press_n: largest force on the way down, where something may be in the way of the fingers; 0 for any.
    """
    words = words or f"grasp the {{{thing.partition('.')[0]}}}"
    choice = GripChoice(thing, approach, raise_m, offset_m, along, tilt_rad, room, turn_rad)
    return (
        Phase("approach", at_grip(thing, approach_m), words, thing=thing, anchor=thing, grip=choice, follow=choice,
              turns=True, speed_m_s=speed_m_s, tolerance_m=0.02, stalls_s=2.5),
        Phase("descend", at_grip(thing, 0.0), words, thing=thing, anchor=thing, follow=choice, turns=True,
              speed_m_s=0.2, tolerance_m=tolerance_m, press_n=press_n, stalls_s=2.0),
        Phase("grasp", stay, words, thing=thing, gripper="closed", until="gripped", shortest_s=0.2, noise=0.0),
    )  # fmt: skip


def at_grip(thing: str, back_m: float):
    """Target: the remembered grip of a thing, drawn back along the approach."""

    def target(scene: Scene, memory: Memory) -> Target:
        axes = product(scene.axes(thing), memory.grip_axes)
        offset = rotated(scene.axes(thing), memory.grip_m)
        return Target(scene.position(thing) + offset + back_m * rotated(axes, IN_TOOL), axes)

    return target


def stay(_scene: Scene, memory: Memory) -> Target:
    """Target: where the tool was when the phase began."""
    return Target(memory.tool_m.copy())
