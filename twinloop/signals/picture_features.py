"""Features of images without a trained network: colour, contrast, edge directions and texture over a grid of cells.

The bank is fixed, so distances of different days can be compared. An ONNX file can take its place (`OnnxFeatures`).
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.errors import UsageError

SIDE_PX = 96  # images are reduced to this height and width
CELLS = 4  # cells in each direction
DIRECTIONS = 8
SCALES_PX = (1.0, 2.0, 4.0)
TO_OPPONENT = np.array([[0.299, 0.587, 0.114], [0.5, -0.5, 0.0], [0.25, 0.25, -0.5]], np.float32)
"""Luma, red against green, yellow against blue."""

FAMILIES = ("colour", "contrast", "edges", "texture")
Extractor = Callable[[np.ndarray], np.ndarray]
"""(h, w, 3) uint8 image -> (features,)."""


def picture_features(rgb: np.ndarray) -> np.ndarray:
    """(features,) of one image: the families back to back, each over all cells."""
    small = reduced(rgb, SIDE_PX, SIDE_PX).astype(np.float32) / 255
    opponent = small @ TO_OPPONENT.T
    luma = opponent[..., 0]
    across, down = scipy.ndimage.sobel(luma, axis=1), scipy.ndimage.sobel(luma, axis=0)
    strength = np.hypot(across, down)
    # The direction of an edge, not of its gradient: black on white is the same edge as white on black.
    direction = np.mod(np.arctan2(down, across), np.pi) * DIRECTIONS / np.pi
    bins = np.stack([strength * np.maximum(0, 1 - _apart(direction, number)) for number in range(DIRECTIONS)], axis=-1)
    bands, last = [], luma
    for scale in SCALES_PX:
        smooth = scipy.ndimage.gaussian_filter(luma, scale)
        bands.append(np.square(last - smooth))
        last = smooth
    texture = np.sqrt(_cells(np.stack(bands, axis=-1)) + 1e-6)
    spread = np.sqrt(np.maximum(_cells(opponent**2) - _cells(opponent) ** 2, 0))
    return np.concatenate([part.ravel() for part in (_cells(opponent), spread, _cells(bins), texture)])


def family_slices() -> dict[str, slice]:
    """Family -> its place among the features of `picture_features`."""
    sizes = [CELLS * CELLS * count for count in (3, 3, DIRECTIONS, len(SCALES_PX))]
    ends = np.cumsum([0, *sizes])
    return {name: slice(int(ends[place]), int(ends[place + 1])) for place, name in enumerate(FAMILIES)}


def _apart(direction: np.ndarray, number: int) -> np.ndarray:
    """Distance of a direction to the centre of a bin, round the half circle."""
    apart = np.abs(direction - number)
    return np.minimum(apart, DIRECTIONS - apart)


def _cells(channels: np.ndarray) -> np.ndarray:
    """(CELLS, CELLS, c) mean of each cell."""
    size = SIDE_PX // CELLS
    return channels.reshape(CELLS, size, CELLS, size, -1).mean(axis=(1, 3))


def reduced(rgb: np.ndarray, height: int, width: int) -> np.ndarray:
    """The image at another size, by the mean of the pixels that each new pixel covers."""
    tall, wide = rgb.shape[:2]
    if (tall, wide) == (height, width):
        return rgb
    rows, columns = _weights(tall, height), _weights(wide, width)
    return np.einsum("ij,jkc,lk->ilc", rows, rgb.astype(np.float32), columns, optimize=True)


def _weights(before: int, after: int) -> np.ndarray:
    """(after, before) share of each old pixel in each new one."""
    edges = np.linspace(0, before, after + 1)
    low, high = edges[:-1, None], edges[1:, None]
    pixel = np.arange(before)
    cover = np.clip(np.minimum(high, pixel + 1) - np.maximum(low, pixel), 0, None)
    return (cover / cover.sum(axis=1, keepdims=True)).astype(np.float32)


class OnnxFeatures:
    """Features of a network in an ONNX file: one input (1, 3, h, w) in RGB from 0 to 1, its first output flattened."""

    def __init__(self, path: Path):
        try:
            import onnxruntime
        except ImportError:
            raise UsageError(f"--backbone {path}: needs ONNX Runtime; run: pip install 'twinloop[onnx]'") from None
        if not path.is_file():
            raise UsageError(f"--backbone {path}: no such file")
        try:
            self._session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime raises classes of its own
            raise UsageError(f"--backbone {path}: is not a model that ONNX Runtime reads: {error}") from None
        entry = self._session.get_inputs()[0]
        if len(entry.shape) != 4 or entry.shape[1] != 3:
            raise UsageError(
                f"--backbone {path}: its input has the shape {entry.shape}; (1, 3, height, width) is needed"
            )
        self._name = entry.name
        self._size = tuple(side if isinstance(side, int) else 224 for side in entry.shape[2:])

    def __call__(self, rgb: np.ndarray) -> np.ndarray:
        picture = reduced(rgb, *self._size).astype(np.float32).transpose(2, 0, 1)[None] / 255
        return np.asarray(self._session.run(None, {self._name: picture})[0], np.float32).ravel()


def features_of_pictures(pictures: Iterable[np.ndarray], extractor: Extractor = picture_features) -> np.ndarray:
    """(n, features)."""
    return np.stack([extractor(picture) for picture in pictures])
