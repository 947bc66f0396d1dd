"""Checkpoint -> Runlog: a policy on a robot: hardware, a rehearsal cell, or the twin."""
