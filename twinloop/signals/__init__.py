"""Estimators of what a signal tells: how late and how slowly it follows, how noisy it is, how it is distributed.

Each is a function of arrays, with an uncertainty and with "cannot tell" where the data does not say.
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
