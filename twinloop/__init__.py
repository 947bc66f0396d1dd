"""Twinloop: a sim-to-real data pipeline for robot learning."""

__version__ = "0.1.0"
