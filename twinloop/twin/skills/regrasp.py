"""Regrasp: let go of a knob, turn the open hand back by half a turn, and grip the knob again."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import about_z, product
from twinloop.twin.scene import Scene
from twinloop.twin.skills.grasp import grasp
from twinloop.twin.skills.retreat import retreat

RAD_S = 1.3


def regrasp(bar: str, *, words: str = "") -> tuple[Phase, ...]:
    """Grip a bar again, with the hand turned back by half a turn about the vertical.

    A bar looks the same after half a turn, so the wrist gets a range of half a turn more.

    Args:
        bar: frame of the bar, gripped from above.
    """
    words = words or f"grasp the {{{bar.partition('.')[0]}}} again"

    def back(_scene: Scene, memory: Memory) -> Target:
        # A target that moves: half a turn at once would leave open which way round it is.
        angle = np.minimum(RAD_S * memory.elapsed_s, np.pi)
        return Target(memory.tool_m.copy(), product(about_z(-angle), memory.tool_axes))

    return (
        *retreat(by_m=0.05, words=words),
        Phase("turn_back", back, words, turns=True, relative=True, tolerance_m=0.03, shortest_s=np.pi / RAD_S),
        *grasp(bar, approach="frame", approach_m=0.05, words=words),
    )
