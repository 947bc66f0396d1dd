"""Hand over: lower a carried thing onto a person's open palm, which may move, release it and withdraw."""

from dataclasses import replace

from twinloop.twin.phase import Phase
from twinloop.twin.skills.place import place


def hand_over(thing: str, to: str, *, height_m: float = 0.003, words: str = "") -> tuple[Phase, ...]:
    """Follow the palm until the thing is on it, then let go.

    Args:
        to: the palm, whose frame is on its surface.
        height_m: height above the palm at which the fingers open.
    """
    lower, *rest = place(thing, on=to, height_m=height_m, words=words or f"hand over the {{{thing}}}", speed_m_s=0.15,
                         tolerance_m=0.007, longest_s=6.0)  # fmt: skip
    return replace(lower, name="offer"), *rest
