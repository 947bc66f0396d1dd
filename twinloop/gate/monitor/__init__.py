"""Runlogs of the live policy -> Incident: is it still what it was promoted as? If not, the way back is taken."""

from .act import Looked, look
from .watch import Watched

__all__ = ["Looked", "Watched", "look"]
