"""Release and retreat: open the fingers and move the tool away, against its approach."""

import numpy as np

from twinloop.twin.phase import Memory, Phase, Target
from twinloop.twin.rotation import rotated
from twinloop.twin.scene import Scene
from twinloop.twin.skills.grasp import stay

BACK = np.array([0.0, 0.0, -1.0])


def retreat(
    thing: str = "", *, by_m: float = 0.1, words: str = "let go", upwards: bool = True, shortest_s: float = 0.2
) -> tuple[Phase, ...]:
    """Open the fingers and move away.

    Args:
        thing: what is let go.
        upwards: straight up; else back along the tool's own approach, e.g. from a handle.
        shortest_s: time until the motion may end; longer for a thing that rocks before it stands.
    """

    def away(_scene: Scene, memory: Memory) -> Target:
        step = np.array([0.0, 0.0, by_m]) if upwards else by_m * rotated(memory.tool_axes, BACK)
        return Target(memory.tool_m + step)

    return (
        Phase("release", stay, words, thing=thing, until="opened", shortest_s=0.12, noise=0.0),
        Phase(
            "retreat",
            away,
            words,
            thing=thing,
            relative=True,
            funnel=upwards,
            speed_m_s=0.35,
            tolerance_m=0.03,
            shortest_s=shortest_s,
        ),
    )
