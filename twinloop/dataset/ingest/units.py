"""Conversions per element: stored = scale · recorded + offset, and the inverse.

A unit is converted only if the mapping names the recorded and the stored unit. `unwrap` removes the jumps of an angle
recorded within one turn; the inverse wraps it into that turn again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

UNITS: Mapping[str, tuple[str, float]] = {
    "rad": ("angle", 1.0),
    "deg": ("angle", pi / 180),
    "mrad": ("angle", 1e-3),
    "turn": ("angle", 2 * pi),
    "m": ("length", 1.0),
    "cm": ("length", 1e-2),
    "mm": ("length", 1e-3),
    "um": ("length", 1e-6),
    "in": ("length", 0.0254),
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "ns": ("time", 1e-9),
    "min": ("time", 60.0),
    "rad/s": ("turn rate", 1.0),
    "deg/s": ("turn rate", pi / 180),
    "rpm": ("turn rate", 2 * pi / 60),
    "m/s": ("speed", 1.0),
    "cm/s": ("speed", 1e-2),
    "mm/s": ("speed", 1e-3),
    "m/s²": ("acceleration", 1.0),
    "g0": ("acceleration", 9.80665),
    "kg": ("mass", 1.0),
    "g": ("mass", 1e-3),
    "N": ("force", 1.0),
    "mN": ("force", 1e-3),
    "kgf": ("force", 9.80665),
    "N·m": ("torque", 1.0),
    "N·cm": ("torque", 1e-2),
    "mN·m": ("torque", 1e-3),
    "A": ("current", 1.0),
    "mA": ("current", 1e-3),
    "V": ("voltage", 1.0),
    "mV": ("voltage", 1e-3),
    "1": ("share", 1.0),
    "%": ("share", 1e-2),
    "Hz": ("frequency", 1.0),
}
"""Unit -> (quantity, size in the quantity's first unit)."""

SPELLED = {
    "°": "deg", "degree": "deg", "degrees": "deg", "radian": "rad", "radians": "rad", "rads": "rad",
    "deg/sec": "deg/s", "°/s": "deg/s", "dps": "deg/s", "Nm": "N·m", "N*m": "N·m", "N.m": "N·m", "mNm": "mN·m",
    "Ncm": "N·cm", "m/s^2": "m/s²", "m/s2": "m/s²", "sec": "s", "seconds": "s", "percent": "%", "meter": "m",
    "metre": "m", "meters": "m", "metres": "m", "µs": "us", "µm": "um", "rev": "turn",
}  # fmt: skip


def spelled(unit: str) -> str:
    """The standard name of a unit; an unknown unit is returned unchanged."""
    return SPELLED.get(unit.strip(), unit.strip())


def factor(recorded: str, stored: str) -> float | None:
    """Factor from `recorded` to `stored`; None if they measure different quantities."""
    if recorded == stored:
        return 1.0
    if recorded not in UNITS or stored not in UNITS or UNITS[recorded][0] != UNITS[stored][0]:
        return None
    return UNITS[recorded][1] / UNITS[stored][1]


@dataclass(frozen=True)
class Conversion:
    """Conversion of one element. recorded, stored: units, "" if unknown. unwrap: one turn in recorded units, or 0."""

    scale: float = 1.0
    offset: float = 0.0
    recorded: str = ""
    stored: str = ""
    unwrap: float = 0.0

    @property
    def is_identity(self) -> bool:
        return self.scale == 1 and self.offset == 0 and self.unwrap == 0

    def apply(self, values: np.ndarray) -> np.ndarray:
        if self.is_identity:
            return values
        wide = values.astype(np.float64)
        if self.unwrap:
            wide = np.unwrap(wide, period=self.unwrap)
        return wide * self.scale + self.offset

    def invert(self, values: np.ndarray, *, lowest: float = 0.0) -> np.ndarray:
        """The recorded values, except for rounding. lowest: lower end of the recorder's turn."""
        if self.is_identity:
            return values
        wide = (values.astype(np.float64) - self.offset) / self.scale
        return lowest + np.mod(wide - lowest, self.unwrap) if self.unwrap else wide

    def to_json(self) -> dict[str, Any]:
        return {
            "scale": self.scale, "offset": self.offset, "recorded_unit": self.recorded, "stored_unit": self.stored,
            "unwrap": self.unwrap,
        }  # fmt: skip
