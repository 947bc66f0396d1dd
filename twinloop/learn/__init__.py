"""Datasets -> Checkpoint: policies from simulation, corrected by a little real data."""
