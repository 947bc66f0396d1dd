"""Hold: keep the hand where it is, with or without something in its grip, while another arm works."""

import numpy as np

from twinloop.twin.phase import Phase
from twinloop.twin.scene import Scene
from twinloop.twin.skills.grasp import stay


def hold(thing: str = "", *, carried: str = "", words: str = "", at_least_s: float = 0.0) -> tuple[Phase, ...]:
    """Stay, until all arms have done their part of the step.

    Args:
        thing: what is in the grip; "" for an open and empty hand.
        carried: the frame of the thing that is gripped, if it is not its centre.
        at_least_s: time for which to stay in any case.
    """
    words = words or (f"hold the {{{thing}}}" if thing else "wait")
    return (
        Phase("hold", stay, words, thing=thing, gripper="closed" if thing else "open", until=_at_once, relative=True,
              carrying=carried or thing, shortest_s=at_least_s, longest_s=max(4.0, 2 * at_least_s)),
    )  # fmt: skip


def _at_once(scene: Scene) -> np.ndarray:
    return np.ones(len(scene.tool_position), bool)
