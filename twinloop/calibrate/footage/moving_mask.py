"""Masks of the robot before a fixed camera: pixels that differ from the median of the film, in the robot's colours."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from twinloop.signals.regions import connected

CHANGED = 28  # levels of 255; noise and compression stay below
SHADOW = (0.35, 1.0)  # a shadow dims all channels by the same factor
SHADOW_TINT = 0.09
LEVELS = 16
COLOUR_RATIO = 2.0
SMALLEST_SHARE = 2e-4  # of the image; smaller spots are noise


def median_frames(rgb: np.ndarray, film: np.ndarray) -> np.ndarray:
    """(films, h, w, 3) uint8: the median of each film, in which moving things disappear."""
    return np.stack([np.median(rgb[film == number], axis=0).astype(np.uint8) for number in np.unique(film)])


@dataclass(frozen=True)
class RobotMasks:
    """Where a film shows the robot.

    Attributes:
        moving: (f, h, w) bool: pixels that differ from the median frame of their film and have the robot's colours.
        static: (films, h, w) bool: pixels of the median frames that have the robot's colours.
    """

    moving: np.ndarray
    static: np.ndarray


def robot_masks(rgb: np.ndarray, film: np.ndarray) -> RobotMasks:
    """Masks of what moves, without shadows, specks, and colours that are as frequent in the background.

    A thing that was moved leaves a place that differs from the median frame, but it has the colour of the table.
    """
    numbers, place = np.unique(film, return_inverse=True)
    medians = median_frames(rgb, film)
    least = max(int(SMALLEST_SHARE * rgb.shape[1] * rgb.shape[2]), 4)
    backgrounds = medians.astype(np.float32)
    moving = np.stack([
        _moving(picture.astype(np.float32), backgrounds[of]) for picture, of in zip(rgb, place, strict=True)
    ])  # fmt: skip
    likely = _robot_colours(rgb, moving, medians)
    for number, picture in enumerate(rgb):
        moving[number] = _without_specks(moving[number] & likely[_codes(picture)], least)
    static = np.stack([_without_specks(likely[_codes(medians[number])], least) for number in range(len(numbers))])
    return RobotMasks(moving, static)


def _codes(picture: np.ndarray) -> np.ndarray:
    """Number of each pixel's colour, with `LEVELS` levels a channel."""
    coarse = picture.astype(np.int32) * LEVELS // 256
    return (coarse[..., 0] * LEVELS + coarse[..., 1]) * LEVELS + coarse[..., 2]


def _robot_colours(rgb: np.ndarray, moving: np.ndarray, medians: np.ndarray) -> np.ndarray:
    """(LEVELS³,) bool: colours that are more frequent among moving pixels than in the background."""
    of_moving = np.bincount(_codes(rgb)[moving], minlength=LEVELS**3) + 0.0
    of_rest = np.bincount(_codes(medians).ravel(), minlength=LEVELS**3) + 0.0
    cube = (LEVELS, LEVELS, LEVELS)
    # Neighbouring colours support each other, because light changes them a little.
    smooth = [ndimage.gaussian_filter(counts.reshape(cube), 0.6).ravel() for counts in (of_moving, of_rest)]
    shares = [counts / max(counts.sum(), 1) for counts in smooth]
    return shares[0] > COLOUR_RATIO * shares[1] + 1e-6


def shadow_masks(rgb: np.ndarray, film: np.ndarray) -> np.ndarray:
    """(f, h, w) bool: pixels that are darker than the median frame and have its colour."""
    backgrounds = dict(zip(np.unique(film).tolist(), median_frames(rgb, film).astype(np.float32), strict=True))
    masks = np.empty(rgb.shape[:3], bool)
    for number, (picture, of) in enumerate(zip(rgb, film.tolist(), strict=True)):
        dimmed, _ = _dimmed(picture.astype(np.float32), backgrounds[of])
        masks[number] = ndimage.binary_opening(dimmed, iterations=2)
    return masks


def _dimmed(picture: np.ndarray, background: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(pixels in shadow, largest change of a channel)."""
    ratio = (picture + 8) / (background + 8)
    level = ratio.mean(axis=2)
    tint = np.abs(ratio - level[..., None]).max(axis=2)
    dimmed = (level > SHADOW[0]) & (level < 0.93) & (tint < SHADOW_TINT)
    return dimmed, np.abs(picture - background).max(axis=2)


def _moving(picture: np.ndarray, background: np.ndarray) -> np.ndarray:
    dimmed, change = _dimmed(picture, background)
    return (change > CHANGED) & ~dimmed


def _without_specks(mask: np.ndarray, least: int) -> np.ndarray:
    mask = ndimage.binary_closing(ndimage.binary_opening(mask), iterations=2)
    labels, count = connected(mask)
    if not count:
        return mask
    sizes = ndimage.sum_labels(mask, labels, np.arange(1, count + 1))
    return np.isin(labels, 1 + np.flatnonzero(sizes >= least))
