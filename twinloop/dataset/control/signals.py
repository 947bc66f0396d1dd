"""Control signals of a camera's images: edges, blur, grey depth and coloured masks, as (h, w, 3) uint8 images."""

import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.signals.regions import connected

EDGE_LEVELS = (100.0, 200.0)
"""Low and high threshold of the gradient, in levels of 255 summed by a Sobel filter, as usual for Canny's method."""
SMOOTH_PX = 1.0
BLUR_SHARE = 1 / 40  # standard deviation of the blur, as a share of the image's height
DEPTH_SHARES = (0.01, 0.99)
LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def edges(rgb: np.ndarray) -> np.ndarray:
    """White edges on black by Canny's method: thin ridges of the gradient, connected to strong ones."""
    luma = scipy.ndimage.gaussian_filter(rgb @ LUMA, SMOOTH_PX)
    across, down = scipy.ndimage.sobel(luma, axis=1), scipy.ndimage.sobel(luma, axis=0)
    strength = np.hypot(across, down)
    thin = strength * _is_ridge(strength, across, down)
    low, high = EDGE_LEVELS
    labels, count = connected(thin > low, diagonal=True)
    strong = np.zeros(count + 1, bool)
    strong[np.unique(labels[thin > high])] = True
    strong[0] = False
    return _white(strong[labels])


def _is_ridge(strength: np.ndarray, across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Where the gradient is not smaller than at both neighbours along its direction, to the nearest 45 degrees."""
    sector = np.round(np.arctan2(down, across) / (np.pi / 4)).astype(int) % 4
    padded = np.pad(strength, 1, mode="edge")
    height, width = strength.shape
    ridge = np.zeros(strength.shape, bool)
    for number, (y, x) in enumerate(((0, 1), (1, 1), (1, 0), (1, -1))):
        ahead = padded[1 + y : 1 + y + height, 1 + x : 1 + x + width]
        behind = padded[1 - y : 1 - y + height, 1 - x : 1 - x + width]
        ridge |= (sector == number) & (strength >= ahead) & (strength > behind)
    return ridge


def blurred(rgb: np.ndarray) -> np.ndarray:
    """The image without detail: colours and light stay."""
    size = BLUR_SHARE * rgb.shape[0]
    return scipy.ndimage.gaussian_filter(rgb, (size, size, 0))


def depth_range(depth_m: np.ndarray) -> tuple[float, float]:
    """(nearest, farthest) of a whole film, without outliers. One range for all frames avoids flicker."""
    near, far = np.quantile(depth_m[depth_m > 0.011] if (depth_m > 0.011).any() else depth_m, DEPTH_SHARES)
    return float(near), float(max(far, near + 1e-3))


def grey_depth(depth_m: np.ndarray, near_m: float, far_m: float) -> np.ndarray:
    """Inverse depth as grey: near is white, far is black, as monocular depth networks give it."""
    # The smallest depth means that the camera measured none; it is drawn as far away.
    known = np.where(depth_m > 0.011, depth_m, far_m)
    share = (1 / np.maximum(known, 1e-3) - 1 / far_m) / (1 / near_m - 1 / far_m)
    grey = np.round(255 * np.clip(share, 0, 1)).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def id_colours(count: int) -> np.ndarray:
    """(count, 3) uint8 colours that differ from each other. Id 0, the background, is black."""
    hue = (np.arange(count) * 0.618034) % 1  # steps of the golden ratio never come close to an earlier hue
    value = np.where(np.arange(count) % 2, 1.0, 0.7)
    channels = [np.clip(np.abs((6 * hue + shift) % 6 - 3) - 1, 0, 1) for shift in (0, 4, 2)]
    colours = np.round(255 * value[:, None] * np.stack(channels, axis=1)).astype(np.uint8)
    colours[0] = 0
    return colours


def coloured_ids(ids: np.ndarray, colours: np.ndarray) -> np.ndarray:
    return colours[ids]


def foreground(ids: np.ndarray, background: tuple[int, ...]) -> np.ndarray:
    """White where an image shows something else than the given ids."""
    return _white(~np.isin(ids, background))


def _white(mask: np.ndarray) -> np.ndarray:
    return np.repeat((255 * mask).astype(np.uint8)[..., None], 3, axis=2)
