"""JPEG compression of an image: luma and half-size chroma, quantised 8 × 8 cosine transforms.

The entropy coder is left out, because it is lossless.
"""

import numpy as np

from twinloop.observe.kernels import compiled
from twinloop.observe.sampling import copy_channels

# ITU-T T.81, annex K: the tables for quality 50.
LUMA = np.array([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
], np.float32).reshape(8, 8)  # fmt: skip
CHROMA = np.full((8, 8), 99, np.float32)
CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]

TO_YCC = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], np.float32)
TO_RGB = np.linalg.inv(TO_YCC).astype(np.float32)

_k, _n = np.mgrid[0:8, 0:8]
DCT = (np.sqrt(np.where(_k == 0, 1, 2) / 8) * np.cos(np.pi * (2 * _n + 1) * _k / 16)).astype(np.float32)

STRIP = 256
"""Columns that the compiled transform processes together."""


def compressed(rgb: np.ndarray, quality: float) -> np.ndarray:
    """(f, h, w, 3) uint8 after JPEG compression with this quality, 1 to 100; 100 changes nothing."""
    if quality >= 100:
        return rgb
    scale = 50 / quality if quality < 50 else 2 - quality / 50
    luma_step, chroma_step = (np.maximum(np.round(table * scale), 1) for table in (LUMA, CHROMA))
    height, width = rgb.shape[1:3]
    # Half-size chroma still needs complete blocks.
    tall, wide = height + -height % 16, width + -width % 16
    out = np.empty_like(rgb)
    kernels = compiled()
    if kernels is not None:
        luma, chroma = np.empty((tall, wide), np.float32), np.empty((2, tall // 2, wide // 2), np.float32)
        kernels.compress(
            np.ascontiguousarray(rgb), DCT, TO_YCC, TO_RGB, np.tile(luma_step.T, STRIP // 8),
            np.tile(chroma_step.T, STRIP // 8), tall, wide, luma, chroma, np.empty((2, 8 * STRIP), np.float32), out,
        )  # fmt: skip
        return out
    planes, kept = np.empty((3, tall, wide), np.float32), np.empty((3, tall, wide), np.float32)
    for frame, picture in enumerate(rgb):
        copy_channels(picture, planes[:, :height, :width].transpose(1, 2, 0))
        planes[:, height:, :width] = planes[:, height - 1 : height, :width]
        planes[:, :, width:] = planes[:, :, width - 1 : width]
        kept[0] = _back(_mixed(TO_YCC[:1], planes)[0] - 128, luma_step)
        kept[0] += 128
        for half, whole in zip(_mixed(TO_YCC[1:], _halved(planes)), kept[1:], strict=True):
            half = _back(half, chroma_step)
            for row in (0, 1):
                whole[row::2, ::2] = whole[row::2, 1::2] = half
        colours = _mixed(TO_RGB, kept)[:, :height, :width]
        np.rint(colours, out=colours)
        np.clip(colours, 0, 255, out=colours)
        copy_channels(colours.transpose(1, 2, 0), out[frame])
    return out


def _mixed(matrix: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """Multiply the channels of every pixel by a matrix.

    Sums are in a fixed order, which a matrix product of NumPy does not have: it differs between processors.
    """
    return np.stack([row[0] * planes[0] + row[1] * planes[1] + row[2] * planes[2] for row in matrix])


def _halved(planes: np.ndarray) -> np.ndarray:
    """Means of blocks of two by two pixels."""
    rows = planes[:, ::2] + planes[:, 1::2]
    return (rows[..., ::2] + rows[..., 1::2]) * np.float32(0.25)


def _back(plane: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Transform the 8 × 8 blocks of an (h, w) plane, round to the quantisation steps, and transform back."""
    kept = _forward(_forward(plane).T)
    blocks = kept.reshape(-1, 8, kept.shape[1] // 8, 8)
    steps = step.T[:, None, :]
    blocks /= steps
    np.rint(blocks, out=blocks)
    blocks *= steps
    return _inverse(_inverse(kept).T)


def _forward(plane: np.ndarray) -> np.ndarray:
    """Cosine transform of every column of 8 numbers of an (h, w) plane; sums in a fixed order.

    The even rows of the matrix are symmetric and the odd ones antisymmetric, so half of the products are enough.
    """
    columns = np.ascontiguousarray(plane).reshape(-1, 8, plane.shape[1])
    upper, lower = columns[:, :4], columns[:, :3:-1]
    out = np.empty_like(columns)
    for first, parts in enumerate((upper + lower, upper - lower)):
        for k in range(first, 8, 2):
            out[:, k] = _sum_of_products(DCT[k, :4], parts)
    return out.reshape(plane.shape)


def _inverse(plane: np.ndarray) -> np.ndarray:
    """The inverse of `_forward`."""
    columns = np.ascontiguousarray(plane).reshape(-1, 8, plane.shape[1])
    out = np.empty_like(columns)
    for n in range(4):
        even, odd = (_sum_of_products(DCT[first::2, n], columns[:, first::2]) for first in (0, 1))
        out[:, n], out[:, 7 - n] = even + odd, even - odd
    return out.reshape(plane.shape)


def _sum_of_products(factors: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Sum over the second axis of `parts`, from its first to its last element."""
    total = factors[0] * parts[:, 0]
    for number in range(1, len(factors)):
        total += factors[number] * parts[:, number]
    return total
