"""Estimators of what a signal tells: how late and how slowly it follows, how noisy it is, how it is distributed.

Each is a function of arrays, with an uncertainty and with "cannot tell" where the data does not say.
"""

from twinloop.diagnose.signals.distance import Distance, distance
from twinloop.diagnose.signals.motion import MotionStatistics, motion
from twinloop.diagnose.signals.noise import NoiseEstimate, noise_floor
from twinloop.diagnose.signals.pictures import Appearance, appearance
from twinloop.diagnose.signals.response import Response, response
from twinloop.diagnose.signals.tracking import TrackingError, tracking

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
