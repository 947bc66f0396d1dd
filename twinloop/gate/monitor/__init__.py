"""Runlogs of the live policy -> Incident: is it still what it was promoted as? If not, the way back is taken."""

from .act import MonitorResult, look
from .watch import Watched

__all__ = ["MonitorResult", "Watched", "look"]
