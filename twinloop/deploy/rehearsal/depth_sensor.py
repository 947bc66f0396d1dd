"""DepthSensor: the errors of a depth camera in a rehearsal cell. They share no code with the twin's (`observe/`).

The model is that of an active stereo camera: the error is in disparity, so it grows with the square of the distance
(Khoshelham and Oude Elberink, Sensors 2012), neighbouring pixels share it, and pixels at edges have no value.
"""

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter, uniform_filter

NEAR_M, FAR_M = 0.1, 5.0
"""Nearer and farther pixels have no value."""
NOISE_AT_1_M, SCALE = (0.001, 0.004), 0.01
"""Standard deviation at one metre, and the largest error of the scale."""
EDGE_M, EDGE_SHARE = 0.05, (0.2, 0.7)
"""A step between neighbouring pixels that is an edge, and the share of edge pixels without a value."""
STEP_AT_1_M = 0.001
"""Quantisation at one metre."""
PATCH_PX = 3


class DepthSensor:
    """A depth camera with its own scale, noise and lost edges, drawn from `rng`."""

    def __init__(self, rng: np.random.Generator):
        self._scale = 1 + SCALE * rng.uniform(-1, 1)
        self._noise_at_1_m = rng.uniform(*NOISE_AT_1_M)
        self._edge_share = rng.uniform(*EDGE_SHARE)

    def seen(self, depth_m: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the (height, width) depth that the sensor reports; 0 where it has no value.

        Args:
            depth_m: rendered depth; 0 or infinite outside the range of the renderer.
        """
        known = np.isfinite(depth_m) & (depth_m >= NEAR_M) & (depth_m <= FAR_M)
        true_m = np.where(known, depth_m, FAR_M)
        # White noise over a patch, scaled back to standard deviation 1.
        noise = PATCH_PX * uniform_filter(rng.standard_normal(depth_m.shape), PATCH_PX, mode="wrap")
        measured_m = self._scale * true_m + self._noise_at_1_m * np.square(true_m) * noise
        step_m = STEP_AT_1_M * np.square(true_m)
        measured_m = np.round(measured_m / step_m) * step_m
        edge = maximum_filter(true_m, PATCH_PX) - minimum_filter(true_m, PATCH_PX) > EDGE_M
        lost = edge & (rng.random(depth_m.shape) < self._edge_share)
        return np.where(known & ~lost, measured_m, 0.0).astype(np.float32)
