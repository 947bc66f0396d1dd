"""Regions of masks: connected parts, and distances to the nearest pixel of a mask."""

from typing import Any, cast

import numpy as np
import scipy  # its parts are imported when they are used


def connected(mask: np.ndarray, *, diagonal: bool = False) -> tuple[np.ndarray, int]:
    """((h, w) number of each pixel's connected part, from 1; number of parts). Pixels outside the mask are 0."""
    structure = np.ones((3, 3)) if diagonal else None
    labels, count = cast(tuple[np.ndarray, int], scipy.ndimage.label(mask, structure=structure))
    return labels, int(count)


def distance_to(mask: np.ndarray, *, sampling: tuple[float, ...] | None = None) -> np.ndarray:
    """Euclidean distance of every pixel to the nearest pixel of the mask, as float32."""
    return cast(Any, scipy.ndimage.distance_transform_edt(~mask, sampling=sampling)).astype(np.float32)
