"""Real frames -> ranges of the rows between light and file: exposure, white balance, colour, noise and sharpness."""
