"""Datasets -> Checkpoint: policies from simulation, corrected by a little real data. Nothing here yet."""
