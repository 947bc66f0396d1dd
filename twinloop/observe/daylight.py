"""Daylight by the hour: direction, strength and colour of the sun.

The model is the sun at an equinox at 48° north in a clear sky. With hour angle H and latitude φ its elevation is
asin(cos φ cos H), and its azimuth from south towards west is atan2(sin H, sin φ cos H). The light crosses an air mass m
(Kasten and Young, Appl. Opt. 28, 1989), which transmits exp(-τ m) of each colour. τ is that of air (0.0975 at 550 nm,
falling with the wavelength to the power 4.08) and of a little haze. The light is constant during an episode, because
the sun moves only by a twentieth of a degree in these seconds.
"""

from dataclasses import dataclass

import numpy as np

LATITUDE_RAD = np.deg2rad(48.0)
WAVELENGTHS_NM = np.array([610.0, 550.0, 465.0])
DEPTHS = 0.0975 * (550 / WAVELENGTHS_NM) ** 4.08 + 0.1 * (550 / WAVELENGTHS_NM) ** 1.3
BEAM, SKY = 0.55, 0.18  # of a clear noon through a window, on the scale of the cell's lamps
SKY_RGB = np.array([0.8, 0.95, 1.25])


@dataclass(frozen=True)
class Daylight:
    """Daylight at one time.

    Attributes:
        towards: unit vector in the world from the cell to the sun.
        beam_rgb: direct light of the sun; 0 at night.
        sky_rgb: ambient light of the sky; 0 at night.
    """

    towards: np.ndarray
    beam_rgb: np.ndarray
    sky_rgb: np.ndarray


def daylight(hour: float, heading_deg: float, intensity: float) -> Daylight:
    angle = np.deg2rad(15 * (hour - 12))
    height = float(np.cos(LATITUDE_RAD) * np.cos(angle))
    azimuth = np.deg2rad(heading_deg) - np.arctan2(np.sin(angle), np.sin(LATITUDE_RAD) * np.cos(angle))
    flat = np.sqrt(1 - height**2)
    towards = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), height])
    if height <= 0:
        return Daylight(towards, np.zeros(3), np.zeros(3))
    noon = float(np.cos(LATITUDE_RAD))
    beam = _left(height) / _left(noon).mean()
    return Daylight(towards, BEAM * intensity * beam, SKY * intensity * height / noon * SKY_RGB)


def _left(height: float) -> np.ndarray:
    """(3,) transmitted share of red, green and blue; `height` is the sine of the elevation."""
    elevation_deg = np.rad2deg(np.arcsin(height))
    air_mass = 1 / (height + 0.50572 * (elevation_deg + 6.07995) ** -1.6364)
    return np.exp(-DEPTHS * air_mass)
