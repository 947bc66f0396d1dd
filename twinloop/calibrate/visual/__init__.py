"""Estimates ranges of the camera rows from real frames: exposure, white balance, colour, noise and sharpness."""
