"""Linear, invertible conversion between lerobot's units and those of our datasets.

lerobot reports a joint's position in degrees about the middle of its calibrated range or as a share of that range from
-100 to 100, and a gripper's as a share from 0 to 100. The choice depends on the robot's class and config.
"""

import math
from dataclasses import dataclass

from twinloop.config.section import Section, is_number
from twinloop.errors import nearest

SHARES = {"-100..100": (-100.0, 100.0), "0..100": (0.0, 100.0)}
ANGLES = {"degrees": math.pi / 180, "radians": 1.0}
GIVEN = (*ANGLES, *SHARES, "as_is")


@dataclass(frozen=True)
class LinearUnit:
    """ours = slope * theirs + offset, in `unit`."""

    slope: float
    offset: float
    unit: str

    def ours(self, theirs: float) -> float:
        return self.slope * theirs + self.offset

    def theirs(self, ours: float) -> float:
        return (ours - self.offset) / self.slope


def read_line(section: Section) -> LinearUnit:
    """Read the conversion from a section of the config.

    The key `given` names lerobot's unit. The other keys depend on it:
        degrees, radians: `direction` (1 or -1) and `zero` (our value where lerobot's is 0).
        -100..100, 0..100: `ends` (our values at both ends) and `unit`.
        as_is: `unit`.
    """
    given = section.text("given", "")
    if given in SHARES:
        low, high = SHARES[given]
        ends = section.raw("ends")
        if not isinstance(ends, list) or len(ends) != 2 or not all(map(is_number, ends)) or ends[0] == ends[1]:
            raise section.error("ends", f"is {ends!r}; two numbers, ours at {low:g} and at {high:g}, were expected")
        slope = (float(ends[1]) - float(ends[0])) / (high - low)
        return LinearUnit(slope, float(ends[0]) - slope * low, _unit(section))
    if given in ANGLES:
        direction = section.integer("direction", 1, low=-1, high=1)
        if direction == 0:
            raise section.error("direction", "is 0; 1 or -1 was expected")
        return LinearUnit(direction * ANGLES[given], section.number("zero", 0.0, low=-10, high=10), "rad")
    if given == "as_is":
        return LinearUnit(1.0, 0.0, _unit(section))
    raise section.error("given", f"is {given!r}; what lerobot tells this in: {nearest(given, GIVEN)}")


def _unit(section: Section) -> str:
    unit = section.text("unit", "")
    if not unit:
        raise section.error("unit", "is missing; that of our numbers: rad, m, or 1 for a share")
    return unit
