"""Seven features of a run of frames, one for each fitted quantity. They depend little on the content of the image.

light         exposure: log2 of the light that corresponds to the mean stored brightness
red, blue     white balance: log of the light in this channel, relative to green
colour        saturation: log of the spread of chroma, relative to brightness
dark, bright  read and shot noise: the parts of the variance between frames that are independent of light and that grow
              with it
edge          sharpness: log of the steepest part of strong edges
"""

import numpy as np

from twinloop.observe.compression import TO_YCC
from twinloop.observe.image import GAMMA

NAMES = ("light", "red", "blue", "colour", "dark", "bright", "edge")
NOISE = (4, 5)
FEWEST_STILL = 0.25
BLOCK_PX = 8
ALIKE = 0.7  # correlation of neighbouring pixels; noise stays below it even after a codec
LEVEL_BINS = 12
STEP_PX, STEP_LEVELS = 4, 20.0


def features(rgb: np.ndarray) -> np.ndarray:
    """(7,) features of (f, h, w, 3) frames. Noise is NaN if too little of the image is still, edge without edges."""
    frames = rgb.astype(np.float32)
    mean = frames.mean(axis=0)
    # Stored values are averaged, not light: a policy sees stored values, and a lamp in view does not dominate the mean.
    brightness = (mean @ TO_YCC[0]).mean() / 255
    clear = ((mean > 6) & (mean < 249)).all(axis=-1)
    clear = clear if clear.mean() > 0.02 else np.ones_like(clear)
    red, green, blue = mean[clear].mean(axis=0) + 0.1
    luma, *chroma = (mean[clear] @ TO_YCC.T).T
    spread = np.sqrt(sum(np.var(channel) for channel in chroma)) + 0.05
    dark, bright = _noise(frames)
    return np.array([
        GAMMA * np.log2(brightness + 1e-3), GAMMA * np.log(red / green), GAMMA * np.log(blue / green),
        np.log(spread / (luma.mean() + 1)), dark, bright, _edges(mean @ TO_YCC[0]),
    ])  # fmt: skip


def shot_variance(level: np.ndarray) -> np.ndarray:
    """Variance of the stored level for a shot noise of 1 at white: (slope of the stored value)² times light."""
    light = np.maximum(level / 255, 0.02) ** GAMMA
    return (255 / GAMMA * light ** (1 / GAMMA - 1)) ** 2 * light


def _noise(frames: np.ndarray) -> tuple[float, float]:
    """Variances (read² in levels², shot²) of the green channel, by least squares over bins of brightness.

    White balance does not change green. A variance may come out negative; clipping it would bias means over runs.
    """
    green = frames[..., 1]
    if len(green) < 2:
        return np.nan, np.nan
    change = np.diff(green, axis=0)
    level = (green[1:] + green[:-1]) / 2
    still = _still(change) & (level > 12) & (level < 243)
    if still.mean() < FEWEST_STILL:
        return np.nan, np.nan
    values, square = level[still], change[still] ** 2 / 2
    # Means of two levels are whole or half levels. Small integers are sorted by radix, which is many times faster.
    order = np.argsort((2 * values).astype(np.int16), kind="stable")
    bins = [part for part in np.array_split(order, LEVEL_BINS) if len(part) >= 50]
    if len(bins) < 3:
        return np.nan, np.nan
    # Rounding to 8 bits adds 1/12 level², which is not noise of the sensor.
    variance = np.array([square[part].mean() for part in bins]) - 1 / 12
    slope = shot_variance(np.array([values[part].mean() for part in bins]))
    design = np.stack([np.ones_like(slope), slope], axis=1)
    dark, bright = np.linalg.lstsq(design, variance, rcond=None)[0]
    return float(dark), float(bright)


def _still(change: np.ndarray) -> np.ndarray:
    """Pixels of still blocks: blocks that change little, and without correlation between neighbouring pixels.

    A moving edge changes neighbouring pixels alike.
    """
    pairs, height, width = change.shape
    rows, columns = height // BLOCK_PX, width // BLOCK_PX
    blocks = change[:, : rows * BLOCK_PX, : columns * BLOCK_PX].reshape(pairs, rows, BLOCK_PX, columns, BLOCK_PX)
    power = np.square(blocks).mean(axis=(2, 4))
    down = (blocks[:, :, 1:] * blocks[:, :, :-1]).mean(axis=(2, 4))
    across = (blocks[..., 1:] * blocks[..., :-1]).mean(axis=(2, 4))
    alike = np.maximum(down, across) > ALIKE * power + 0.1
    # The median block shows the noise level; moving blocks are far above it.
    limit = 3 * np.median(power, axis=(1, 2), keepdims=True) + 0.3
    still = np.zeros(change.shape, bool)
    still[:, : rows * BLOCK_PX, : columns * BLOCK_PX] = np.repeat(
        np.repeat((power < limit) & ~alike, BLOCK_PX, axis=1), BLOCK_PX, axis=2
    )
    return still


def _edges(luma: np.ndarray) -> float:
    """Log of the share of a strong step over eight pixels that lies between two neighbouring pixels (median)."""
    ratios = []
    for picture in (luma, luma.T):
        step = np.abs(picture[:, 2 * STEP_PX :] - picture[:, : -2 * STEP_PX])
        steepest = np.zeros_like(step)
        between = np.abs(np.diff(picture, axis=1))
        for place in range(2 * STEP_PX):
            np.maximum(steepest, between[:, place : place + step.shape[1]], out=steepest)
        strong = step > max(STEP_LEVELS, float(np.quantile(step, 0.95)))
        ratios.append(steepest[strong] / step[strong])
    shares = np.concatenate(ratios)
    return float(np.log(np.median(shares))) if len(shares) >= 20 else np.nan
