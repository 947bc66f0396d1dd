"""Numba functions for JPEG compression; see `kernels` and `compression`. Import it only if Numba is installed."""

import numpy as np

from twinloop.observe.compiled_kernels import F, U, _byte, kernel

QUARTER, MIDDLE = F(0.25), F(128)


@kernel
def _forward(dct, block, out):
    """Cosine transform of the columns of an 8 × 8 block, given as 64 numbers; see `compression._forward`."""
    for i in range(U(8)):
        a, b, c, d = block[i], block[U(8) + i], block[U(16) + i], block[U(24) + i]
        e, f, g, h = block[U(32) + i], block[U(40) + i], block[U(48) + i], block[U(56) + i]
        a, b, c, d, e, f, g, h = a + h, b + g, c + f, d + e, d - e, c - f, b - g, a - h
        out[i] = dct[0, 0] * a + dct[0, 1] * b + dct[0, 2] * c + dct[0, 3] * d
        out[U(16) + i] = dct[2, 0] * a + dct[2, 1] * b + dct[2, 2] * c + dct[2, 3] * d
        out[U(32) + i] = dct[4, 0] * a + dct[4, 1] * b + dct[4, 2] * c + dct[4, 3] * d
        out[U(48) + i] = dct[6, 0] * a + dct[6, 1] * b + dct[6, 2] * c + dct[6, 3] * d
        out[U(8) + i] = dct[1, 0] * h + dct[1, 1] * g + dct[1, 2] * f + dct[1, 3] * e
        out[U(24) + i] = dct[3, 0] * h + dct[3, 1] * g + dct[3, 2] * f + dct[3, 3] * e
        out[U(40) + i] = dct[5, 0] * h + dct[5, 1] * g + dct[5, 2] * f + dct[5, 3] * e
        out[U(56) + i] = dct[7, 0] * h + dct[7, 1] * g + dct[7, 2] * f + dct[7, 3] * e


@kernel
def _inverse(dct, block, out):
    """The inverse of `_forward`."""
    for i in range(U(8)):
        a, b, c, d = block[i], block[U(16) + i], block[U(32) + i], block[U(48) + i]
        e, f, g, h = block[U(8) + i], block[U(24) + i], block[U(40) + i], block[U(56) + i]
        for n in range(U(4)):
            even = dct[0, n] * a + dct[2, n] * b + dct[4, n] * c + dct[6, n] * d
            odd = dct[1, n] * e + dct[3, n] * f + dct[5, n] * g + dct[7, n] * h
            out[U(8) * n + i] = even + odd
            out[U(8) * (U(7) - n) + i] = even - odd


@kernel
def _turn(block, out):
    """Transpose an 8 × 8 block."""
    for row in range(U(8)):
        for column in range(U(8)):
            out[U(8) * column + row] = block[U(8) * row + column]


@kernel
def _quantised(plane, dct, steps, one, two):
    """Transform the blocks of a plane, round to 64 transposed steps, and transform back; in place.

    one, two: scratch memory of 64 numbers.
    """
    height, width = plane.shape
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            for row in range(U(8)):
                line = plane[U(top) + row]
                for column in range(U(8)):
                    one[U(8) * row + column] = line[U(left) + column]
            _forward(dct, one, two)
            _turn(two, one)
            _forward(dct, one, two)
            for i in range(U(64)):
                two[i] = np.rint(two[i] / steps[i]) * steps[i]
            _inverse(dct, two, one)
            _turn(one, two)
            _inverse(dct, two, one)
            for row in range(U(8)):
                line = plane[U(top) + row]
                for column in range(U(8)):
                    line[U(left) + column] = one[U(8) * row + column]


@kernel
def compress(pictures, dct, to_ycc, to_rgb, luma_steps, chroma_steps, tall, wide, luma, chroma, blocks, out):
    """(f, h, w, 3) bytes after JPEG compression, as in `compression.compressed`.

    Args:
        luma_steps, chroma_steps: (64,) transposed quantisation steps.
        tall, wide: size in whole blocks; the edge is repeated.
        luma, chroma, blocks: scratch memory, (tall, wide), (2, tall / 2, wide / 2) and (128,).
    """
    height, width = pictures.shape[1:3]
    one, two = blocks[:64], blocks[64:]
    for frame in range(len(pictures)):
        picture = pictures[frame]
        for row in range(tall):
            line, shades = picture[min(row, height - 1)], luma[row]
            for column in range(width):
                red, green, blue = F(line[column, 0]), F(line[column, 1]), F(line[column, 2])
                grey = to_ycc[0, 0] * red + to_ycc[0, 1] * green
                shades[column] = grey + to_ycc[0, 2] * blue - MIDDLE
            for column in range(width, wide):
                shades[column] = shades[width - 1]
        for row in range(tall // 2):
            upper, lower = picture[min(2 * row, height - 1)], picture[min(2 * row + 1, height - 1)]
            blues, reds = chroma[0, row], chroma[1, row]
            for column in range(wide // 2):
                left, right = min(2 * column, width - 1), min(2 * column + 1, width - 1)
                red = _mean(upper, lower, left, right, 0)
                green = _mean(upper, lower, left, right, 1)
                blue = _mean(upper, lower, left, right, 2)
                mixed = to_ycc[1, 0] * red + to_ycc[1, 1] * green
                blues[column] = mixed + to_ycc[1, 2] * blue
                mixed = to_ycc[2, 0] * red + to_ycc[2, 1] * green
                reds[column] = mixed + to_ycc[2, 2] * blue
        _quantised(luma, dct, luma_steps, one, two)
        for kind in range(2):
            _quantised(chroma[kind], dct, chroma_steps, one, two)
        for row in range(height):
            line, shades, blues, reds = out[frame, row], luma[row], chroma[0, row // 2], chroma[1, row // 2]
            for column in range(width):
                grey = shades[column] + MIDDLE
                blue, red = blues[column // 2], reds[column // 2]
                for channel in range(3):
                    mixed = to_rgb[channel, 0] * grey + to_rgb[channel, 1] * blue
                    line[column, channel] = _byte(mixed + to_rgb[channel, 2] * red)


@kernel
def _mean(upper, lower, left, right, channel):
    """Mean of a block of two by two pixels."""
    first = F(upper[left, channel]) + F(lower[left, channel])
    second = F(upper[right, channel]) + F(lower[right, channel])
    return (first + second) * QUARTER
