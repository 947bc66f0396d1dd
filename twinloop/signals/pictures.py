"""Appearance of images in a few numbers: brightness, contrast, colour, sharpness."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Appearance:
    """Statistics of RGB images, each from 0 to 1.

    Attributes:
        brightness, contrast: mean and standard deviation of luma.
        saturation, red, green, blue: means.
        sharpness: mean difference of luma between neighbouring pixels.
        between: standard deviation of brightness over images.
        pictures: number of images.
    """

    brightness: float
    contrast: float
    saturation: float
    red: float
    green: float
    blue: float
    sharpness: float
    between: float
    pictures: int


def appearance(pictures: Iterable[np.ndarray]) -> Appearance | None:
    """Appearance of (height, width, 3) uint8 images, read one at a time; None without any."""
    rows = []
    for picture in pictures:
        colour = picture.astype(np.float32) / 255
        luma = colour @ np.array([0.299, 0.587, 0.114], np.float32)
        high, low = colour.max(axis=2), colour.min(axis=2)
        saturation = float(np.mean((high - low) / np.maximum(high, 1e-3)))
        step = float(np.abs(np.diff(luma, axis=1)).mean() + np.abs(np.diff(luma, axis=0)).mean()) / 2
        rows.append([float(luma.mean()), float(luma.std()), saturation, *colour.mean(axis=(0, 1)).tolist(), step])
    if not rows:
        return None
    table = np.array(rows)
    mean = table.mean(axis=0).tolist()
    return Appearance(*mean, between=float(table[:, 0].std()), pictures=len(rows))
