"""Estimators for signals: clock, delay, response, noise, motion, tracking error, distribution, image appearance.

Each is a function of arrays. Results have an uncertainty, and say why where the data is not sufficient.
"""

from twinloop.signals.distance import Distance, distance
from twinloop.signals.motion import MotionStatistics, motion
from twinloop.signals.noise import NoiseEstimate, noise_floor
from twinloop.signals.pictures import Appearance, appearance
from twinloop.signals.response import Response, response
from twinloop.signals.tracking import TrackingError, tracking

__all__ = [
    "Appearance",
    "Distance",
    "MotionStatistics",
    "NoiseEstimate",
    "Response",
    "TrackingError",
    "appearance",
    "distance",
    "motion",
    "noise_floor",
    "response",
    "tracking",
]
