"""Traits: what one episode shows, in numbers that mean the same on a robot and in its twin."""

from twinloop.diagnose.traits.episode import Arm, Shown
from twinloop.diagnose.traits.table import TRAITS, Trait, measured

__all__ = ["TRAITS", "Arm", "Shown", "Trait", "measured"]
