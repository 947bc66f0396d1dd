"""Runlogs -> GapReport: which gap costs how much. Nothing here yet."""
