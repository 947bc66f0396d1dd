"""Runlogs of the live policy -> incidents: detects that it performs worse than at its promotion, and rolls back."""

from .act import MonitorResult, look
from .watch import Watched

__all__ = ["MonitorResult", "Watched", "look"]
