"""A user's robot from a model file: reading and checking MJCF and URDF, the mapping, and `inspect-robot`."""
