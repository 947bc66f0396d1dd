"""Hardware through lerobot's `Robot` and `Teleoperator` classes. lerobot is imported when a robot is connected to."""
