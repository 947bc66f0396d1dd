"""Hang: thread the eye of a gripped thing onto a rod, lower it until it rests there, and let go."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import rotated
from twinloop.twin.scene import Scene
from twinloop.twin.skills.carry import aligned_axes
from twinloop.twin.skills.retreat import retreat

BEFORE_M = 0.05


def hang(
    thing: str, eye: str, rod: str, tip: str, *, drop_m: float, stalls_s: float = 0.0, words: str = ""
) -> tuple[Phase, ...]:
    """Bring the eye of a thing over a rod.

    Args:
        eye: frame in the middle of the thing's eye, whose x axis goes through it.
        rod, tip: frames in the middle and at the free end of the rod, whose x axis points along it, inwards.
        drop_m: how far the thing is lowered until it rests on the rod.
        stalls_s: thread after this time, even if the eye is not lined up; 0 for never.
    """
    words = words or f"hang up the {{{thing}}}"

    def at(frame: str, before_m: float, below_m: float):
        def target(scene: Scene, _memory: Memory) -> Target:
            axes = scene.axes(rod)
            position = scene.position(frame) - before_m * rotated(axes, np.array([1.0, 0.0, 0.0]))
            position[:, 2] -= below_m
            return Target(position, aligned_axes(scene, thing, axes))

        return target

    about = {"thing": thing, "anchor": rod, "moves": eye, "gripper": "closed", "carrying": thing, "funnel": False}
    return (
        Phase("line_up", at(tip, BEFORE_M, 0.0), words, turns=True, speed_m_s=0.3, tolerance_m=0.008, longest_s=6.0,
              stalls_s=stalls_s, **about),
        Phase("thread", at(rod, 0.0, 0.0), words, speed_m_s=0.12, tolerance_m=0.01, longest_s=6.0, **about),
        Phase("hang", at(rod, 0.0, drop_m), words, speed_m_s=0.08, tolerance_m=0.006, longest_s=4.0, **about),
        *retreat(thing, words=words, by_m=0.08),
    )  # fmt: skip
