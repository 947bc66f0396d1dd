"""Checkpoint -> Runlog: a safe control loop on a robot. Nothing here yet."""
