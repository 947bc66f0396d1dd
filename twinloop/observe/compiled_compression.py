"""Numba functions for JPEG compression; see `kernels` and `compression`. Import it only if Numba is installed."""

import numpy as np

from twinloop.observe.compiled_kernels import F, _byte, kernel

QUARTER, MIDDLE = F(0.25), F(128)


@kernel
def _transform(matrix, plane, out):
    """Multiply every column of 8 numbers of an (h, w) plane by an (8, 8) matrix."""
    height, width = plane.shape
    for top in range(0, height, 8):
        for k in range(8):
            line = out[top + k]
            share, source = matrix[k, 0], plane[top]
            for column in range(width):
                line[column] = share * source[column]
            for n in range(1, 8):
                share, source = matrix[k, n], plane[top + n]
                for column in range(width):
                    line[column] += share * source[column]


@kernel
def _turn(plane, out):
    """Transpose a plane. Blocks of 8 × 8 stay in the fastest cache."""
    height, width = plane.shape
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            for row in range(top, top + 8):
                for column in range(left, left + 8):
                    out[column, row] = plane[row, column]


@kernel
def _back(plane, dct, back, steps, one, two, turned, other):
    """Transform the blocks of a plane, round to (w, 8) turned steps, and transform back; in place.

    one, two: scratch memory of the plane's shape. turned, other: of the transposed shape.
    """
    _transform(dct, plane, one)
    _turn(one, turned)
    _transform(dct, turned, other)
    width, height = other.shape
    for row in range(width):
        line, shares = other[row], steps[row % 8]
        for column in range(height):
            line[column] = np.rint(line[column] / shares[column]) * shares[column]
    _transform(back, other, turned)
    _turn(turned, two)
    _transform(back, two, plane)


@kernel
def compress(pictures, dct, back, to_ycc, to_rgb, luma_steps, chroma_steps, tall, wide, out):
    """(f, h, w, 3) bytes after JPEG compression, as in `compression._compressed`.

    Args:
        luma_steps, chroma_steps: (8, pixels) transposed quantisation steps, repeated along a turned line.
        tall, wide: size in whole blocks; the edge is repeated.
    """
    height, width = pictures.shape[1:3]
    planes = np.empty((3, tall, wide), np.float32)
    luma, one, two = (
        np.empty((tall, wide), np.float32),
        np.empty((tall, wide), np.float32),
        np.empty((tall, wide), np.float32),
    )
    turned, other = np.empty((wide, tall), np.float32), np.empty((wide, tall), np.float32)
    half = (tall // 2, wide // 2)
    chroma = np.empty((2, tall // 2, wide // 2), np.float32)
    small_one, small_two = np.empty(half, np.float32), np.empty(half, np.float32)
    small_turned = np.empty((wide // 2, tall // 2), np.float32)
    small_other = np.empty((wide // 2, tall // 2), np.float32)
    for frame in range(len(pictures)):
        for row in range(tall):
            line = pictures[frame, min(row, height - 1)]
            for column in range(width):
                for channel in range(3):
                    planes[channel, row, column] = F(line[column, channel])
            for column in range(width, wide):
                for channel in range(3):
                    planes[channel, row, column] = planes[channel, row, width - 1]
            red, green, blue = planes[0, row], planes[1, row], planes[2, row]
            for column in range(wide):
                grey = to_ycc[0, 0] * red[column] + to_ycc[0, 1] * green[column]
                luma[row, column] = grey + to_ycc[0, 2] * blue[column] - MIDDLE
        for row in range(tall // 2):
            for column in range(wide // 2):
                red, green, blue = (
                    _mean(planes[0], row, column), _mean(planes[1], row, column), _mean(planes[2], row, column)
                )  # fmt: skip
                for kind in range(2):
                    mixed = to_ycc[1 + kind, 0] * red + to_ycc[1 + kind, 1] * green
                    chroma[kind, row, column] = mixed + to_ycc[1 + kind, 2] * blue
        _back(luma, dct, back, luma_steps, one, two, turned, other)
        for kind in range(2):
            _back(chroma[kind], dct, back, chroma_steps, small_one, small_two, small_turned, small_other)
        for row in range(height):
            line, blues, reds = out[frame, row], chroma[0, row // 2], chroma[1, row // 2]
            for column in range(width):
                grey = luma[row, column] + MIDDLE
                blue, red = blues[column // 2], reds[column // 2]
                for channel in range(3):
                    mixed = to_rgb[channel, 0] * grey + to_rgb[channel, 1] * blue
                    line[column, channel] = _byte(mixed + to_rgb[channel, 2] * red)


@kernel
def _mean(plane, row, column):
    """Mean of a block of two by two pixels."""
    left = plane[2 * row, 2 * column] + plane[2 * row + 1, 2 * column]
    right = plane[2 * row, 2 * column + 1] + plane[2 * row + 1, 2 * column + 1]
    return (left + right) * QUARTER
