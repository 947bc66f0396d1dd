"""Conversion of metres to 12-bit codes and back, with LeRobot's quantisation of depth.

    code = 4095 (log(z + s) - log(a + s)) / (log(b + s) - log(a + s)),   a = 0.01 m, b = 10 m, s = 3.5 m

Values are clipped to [a, b]. A step is 1.2 mm at a and 4.4 mm at b.
"""

import numpy as np

NEAREST_M = 0.01
FARTHEST_M = 10.0
SHIFT_M = 3.5
LARGEST_CODE = (1 << 12) - 1

_LOG_NEAREST = float(np.log(NEAREST_M + SHIFT_M))
_LOG_STEP = (float(np.log(FARTHEST_M + SHIFT_M)) - _LOG_NEAREST) / LARGEST_CODE


def to_codes(metres: np.ndarray) -> np.ndarray:
    clipped = np.clip(metres, NEAREST_M, FARTHEST_M, dtype=np.float32)
    return np.rint((np.log(clipped + np.float32(SHIFT_M)) - _LOG_NEAREST) / _LOG_STEP).astype(np.uint16)


def to_metres(codes: np.ndarray) -> np.ndarray:
    return (np.exp(codes * _LOG_STEP + _LOG_NEAREST) - SHIFT_M).astype(np.float32)
