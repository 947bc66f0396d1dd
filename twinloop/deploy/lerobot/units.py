"""Linear, invertible conversion between lerobot's units and those of our datasets.

lerobot reports a joint's position in degrees about the middle of its calibrated range or as a share of that range from
-100 to 100, and a gripper's as a share from 0 to 100. The choice depends on the robot's class and config.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from twinloop.config.fields import integer, number, numbers, text, word

SHARES = {"-100..100": (-100.0, 100.0), "0..100": (0.0, 100.0)}
ANGLES = {"degrees": math.pi / 180, "radians": 1.0}
GIVEN = (*ANGLES, *SHARES, "as_is")

ANGLE_KEYS, SHARE_KEYS, AS_IS_KEYS = ("direction", "zero"), ("ends", "unit"), ("unit",)
KEY_HELP = {
    "ends": "Give our values where lerobot's are at the lower and upper end",
    "unit": "Give the unit of our numbers: rad, m, or 1 for a share",
}


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


@dataclass(frozen=True, kw_only=True)
class DeviceUnit:
    """The unit in which lerobot gives a number, and the conversion to ours."""

    given: str = word(words=GIVEN, help="lerobot's unit of this number")
    direction: int | None = integer(
        None, low=-1, high=1, help="degrees, radians: 1, or -1 if it turns the other way", otherwise="1"
    )
    zero: float | None = number(
        None, low=-10, high=10, unit="rad", help="degrees, radians: our value where lerobot's is 0", otherwise="0"
    )
    ends: tuple[float, ...] | None = numbers(
        None, count=2, help="-100..100, 0..100: our values at both ends", otherwise="required there"
    )
    unit: str | None = text(
        None, filled=True, help="-100..100, 0..100, as_is: unit of our numbers: rad, m, or 1 for a share",
        otherwise="required there",
    )  # fmt: skip

    def problems(self) -> Iterator[tuple[str, str]]:
        valid = ANGLE_KEYS if self.given in ANGLES else SHARE_KEYS if self.given in SHARES else AS_IS_KEYS
        for key in (*ANGLE_KEYS, *SHARE_KEYS):
            value = getattr(self, key)
            if value is not None and key not in valid:
                yield key, f"is not a key where `given` is {self.given}; valid there: {', '.join(valid)}"
            elif value is None and key in valid and key not in ANGLE_KEYS:
                yield key, f"is missing; needed where `given` is {self.given}. {KEY_HELP[key]}"
        if self.direction == 0:
            yield "direction", "is 0; 1 or -1 was expected"
        if self.ends is not None and self.ends[0] == self.ends[1]:
            yield "ends", f"is {list(self.ends)}; two different numbers were expected. {KEY_HELP['ends']}"

    @property
    def line(self) -> LinearUnit:
        """The conversion to our unit."""
        if self.given in ANGLES:
            return LinearUnit((self.direction or 1) * ANGLES[self.given], self.zero or 0.0, "rad")
        if self.given in SHARES and self.ends is not None:
            low, high = SHARES[self.given]
            slope = (self.ends[1] - self.ends[0]) / (high - low)
            return LinearUnit(slope, self.ends[0] - slope * low, str(self.unit))
        return LinearUnit(1.0, 0.0, str(self.unit))
