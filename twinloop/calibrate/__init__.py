"""Runlogs -> TwinPatch: the twin fitted to what the robot logged."""
