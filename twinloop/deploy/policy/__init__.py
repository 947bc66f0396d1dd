"""A policy in a process of its own: one that hangs, crashes or is killed must not take the control loop with it."""
