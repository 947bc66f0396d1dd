"""Place: lower a carried thing onto a place, release it and retreat."""

from twinloop.twin.phase import Phase
from twinloop.twin.skills.carry import CENTRE, Point, resting_at
from twinloop.twin.skills.retreat import retreat


def place(
    thing: str,
    on: str,
    *,
    height_m: float = 0.002,
    offset_m: Point = CENTRE,
    aligned: bool = False,
    words: str = "",
    speed_m_s: float = 0.2,
    tolerance_m: float = 0.006,
    stalls_s: float = 0.0,
    press_n: float = 0.0,
    longest_s: float = 4.0,
    retreat_m: float = 0.1,
) -> tuple[Phase, ...]:
    """Lower a thing to `height_m` above where it rests, open the fingers, and move up.

    Args:
        stalls_s: let go after this time where the hand is blocked, for a thing that may drop; 0 for never.
        press_n: largest force on the way down, where something may be in the way; 0 for any.
    """
    words = words or f"place the {{{thing}}} on the {{{on.partition('.')[0]}}}"
    return (
        Phase("place", resting_at(thing, on, height_m, offset_m, aligned=aligned), words, thing=thing, anchor=on,
              moves=thing, gripper="closed", carrying=thing, turns=aligned, speed_m_s=speed_m_s,
              tolerance_m=tolerance_m, stalls_s=stalls_s, press_n=press_n, longest_s=longest_s),
        *retreat(thing, by_m=retreat_m, words=words),
    )  # fmt: skip
