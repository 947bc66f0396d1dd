"""Traits: numbers that describe one episode and have the same meaning on a robot and in its twin."""

from twinloop.diagnose.traits.episode import Arm, EpisodeTrace
from twinloop.diagnose.traits.mobile import MobileModel, MobileTrace, mobile_model, mobile_trace
from twinloop.diagnose.traits.table import TRAITS, Trait, measure_traits

__all__ = [
    "TRAITS",
    "Arm",
    "EpisodeTrace",
    "MobileModel",
    "MobileTrace",
    "Trait",
    "measure_traits",
    "mobile_model",
    "mobile_trace",
]
