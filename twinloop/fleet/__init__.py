"""Where work runs: on this machine."""
