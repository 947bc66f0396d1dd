"""Where work runs: on this machine, or on Ray."""
