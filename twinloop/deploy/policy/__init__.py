"""A policy in its own process, so that a policy that hangs, crashes or is killed does not stop the control loop."""
