"""Numba functions for JPEG compression; see `kernels` and `compression`. Import it only if Numba is installed."""

import numpy as np

from twinloop.observe.compiled_kernels import F, U, _byte, kernel
from twinloop.observe.compression import STRIP

QUARTER, MIDDLE = F(0.25), F(128)


# Eight rows of STRIP numbers fit into the fastest cache. A constant distance between rows lets the compiler process
# several columns at once.
_1, _2, _3, _4, _5, _6, _7 = (U(row * STRIP) for row in range(1, 8))


@kernel
def _forward(dct, strip, count, out):
    """Cosine transform of the columns of eight rows; see `compression._forward`."""
    # The compiler cannot know that writing to `out` leaves the matrix as it is.
    d00, d01, d02, d03 = dct[0, 0], dct[0, 1], dct[0, 2], dct[0, 3]
    d10, d11, d12, d13 = dct[1, 0], dct[1, 1], dct[1, 2], dct[1, 3]
    d20, d21, d22, d23 = dct[2, 0], dct[2, 1], dct[2, 2], dct[2, 3]
    d30, d31, d32, d33 = dct[3, 0], dct[3, 1], dct[3, 2], dct[3, 3]
    d40, d41, d42, d43 = dct[4, 0], dct[4, 1], dct[4, 2], dct[4, 3]
    d50, d51, d52, d53 = dct[5, 0], dct[5, 1], dct[5, 2], dct[5, 3]
    d60, d61, d62, d63 = dct[6, 0], dct[6, 1], dct[6, 2], dct[6, 3]
    d70, d71, d72, d73 = dct[7, 0], dct[7, 1], dct[7, 2], dct[7, 3]
    for i in range(U(count)):
        a, b, c, d = strip[i], strip[_1 + i], strip[_2 + i], strip[_3 + i]
        e, f, g, h = strip[_4 + i], strip[_5 + i], strip[_6 + i], strip[_7 + i]
        a, b, c, d, e, f, g, h = a + h, b + g, c + f, d + e, d - e, c - f, b - g, a - h
        out[i] = d00 * a + d01 * b + d02 * c + d03 * d
        out[_2 + i] = d20 * a + d21 * b + d22 * c + d23 * d
        out[_4 + i] = d40 * a + d41 * b + d42 * c + d43 * d
        out[_6 + i] = d60 * a + d61 * b + d62 * c + d63 * d
        out[_1 + i] = d10 * h + d11 * g + d12 * f + d13 * e
        out[_3 + i] = d30 * h + d31 * g + d32 * f + d33 * e
        out[_5 + i] = d50 * h + d51 * g + d52 * f + d53 * e
        out[_7 + i] = d70 * h + d71 * g + d72 * f + d73 * e


@kernel
def _inverse(dct, strip, count, out):
    """The inverse of `_forward`."""
    d00, d01, d02, d03 = dct[0, 0], dct[0, 1], dct[0, 2], dct[0, 3]
    d10, d11, d12, d13 = dct[1, 0], dct[1, 1], dct[1, 2], dct[1, 3]
    d20, d21, d22, d23 = dct[2, 0], dct[2, 1], dct[2, 2], dct[2, 3]
    d30, d31, d32, d33 = dct[3, 0], dct[3, 1], dct[3, 2], dct[3, 3]
    d40, d41, d42, d43 = dct[4, 0], dct[4, 1], dct[4, 2], dct[4, 3]
    d50, d51, d52, d53 = dct[5, 0], dct[5, 1], dct[5, 2], dct[5, 3]
    d60, d61, d62, d63 = dct[6, 0], dct[6, 1], dct[6, 2], dct[6, 3]
    d70, d71, d72, d73 = dct[7, 0], dct[7, 1], dct[7, 2], dct[7, 3]
    for i in range(U(count)):
        a, b, c, d = strip[i], strip[_2 + i], strip[_4 + i], strip[_6 + i]
        e, f, g, h = strip[_1 + i], strip[_3 + i], strip[_5 + i], strip[_7 + i]
        even, odd = d00 * a + d20 * b + d40 * c + d60 * d, d10 * e + d30 * f + d50 * g + d70 * h
        out[i], out[_7 + i] = even + odd, even - odd
        even, odd = d01 * a + d21 * b + d41 * c + d61 * d, d11 * e + d31 * f + d51 * g + d71 * h
        out[_1 + i], out[_6 + i] = even + odd, even - odd
        even, odd = d02 * a + d22 * b + d42 * c + d62 * d, d12 * e + d32 * f + d52 * g + d72 * h
        out[_2 + i], out[_5 + i] = even + odd, even - odd
        even, odd = d03 * a + d23 * b + d43 * c + d63 * d, d13 * e + d33 * f + d53 * g + d73 * h
        out[_3 + i], out[_4 + i] = even + odd, even - odd


@kernel
def _turn(strip, count, out):
    """Transpose every 8 × 8 block of eight rows."""
    for left in range(U(0), U(count), U(8)):
        for row in range(U(8)):
            for column in range(U(8)):
                out[column * U(STRIP) + left + row] = strip[row * U(STRIP) + left + column]


@kernel
def _quantised(plane, dct, steps, one, two):
    """Transform the blocks of a plane, round to 64 transposed steps, and transform back; in place.

    one, two: scratch memory, 8 STRIP numbers.
    """
    height, width = plane.shape
    for top in range(0, height, 8):
        for left in range(0, width, STRIP):
            count = min(STRIP, width - left)
            for row in range(8):
                line, start = plane[top + row], U(row * STRIP)
                for column in range(U(count)):
                    one[start + column] = line[U(left) + column]
            _forward(dct, one, count, two)
            _turn(two, count, one)
            _forward(dct, one, count, two)
            for row in range(8):
                line = steps[row]
                start = U(row * STRIP)
                for i in range(U(count)):
                    two[start + i] = np.rint(two[start + i] / line[i]) * line[i]
            _inverse(dct, two, count, one)
            _turn(one, count, two)
            _inverse(dct, two, count, one)
            for row in range(8):
                line, start = plane[top + row], U(row * STRIP)
                for column in range(U(count)):
                    line[U(left) + column] = one[start + column]


@kernel
def compress(pictures, dct, to_ycc, to_rgb, luma_steps, chroma_steps, tall, wide, luma, chroma, strips, out):
    """(f, h, w, 3) bytes after JPEG compression, as in `compression.compressed`.

    Args:
        luma_steps, chroma_steps: (8, STRIP) transposed quantisation steps, repeated along a row.
        tall, wide: size in whole blocks; the edge is repeated.
        luma, chroma, strips: scratch memory, (tall, wide), (2, tall / 2, wide / 2) and (2, 8 STRIP).
    """
    height, width = pictures.shape[1:3]
    one, two = strips[0], strips[1]
    y_red, y_green, y_blue = to_ycc[0, 0], to_ycc[0, 1], to_ycc[0, 2]
    b_red, b_green, b_blue = to_ycc[1, 0], to_ycc[1, 1], to_ycc[1, 2]
    r_red, r_green, r_blue = to_ycc[2, 0], to_ycc[2, 1], to_ycc[2, 2]
    red_y, red_b, red_r = to_rgb[0, 0], to_rgb[0, 1], to_rgb[0, 2]
    green_y, green_b, green_r = to_rgb[1, 0], to_rgb[1, 1], to_rgb[1, 2]
    blue_y, blue_b, blue_r = to_rgb[2, 0], to_rgb[2, 1], to_rgb[2, 2]
    for frame in range(len(pictures)):
        picture = pictures[frame]
        for row in range(tall):
            line, shades = picture[min(row, height - 1)], luma[row]
            for column in range(U(width)):
                red, green, blue = F(line[column, 0]), F(line[column, 1]), F(line[column, 2])
                shades[column] = y_red * red + y_green * green + y_blue * blue - MIDDLE
            for column in range(width, wide):
                shades[column] = shades[width - 1]
        for row in range(tall // 2):
            upper, lower = picture[min(2 * row, height - 1)], picture[min(2 * row + 1, height - 1)]
            blues, reds = chroma[0, row], chroma[1, row]
            whole = width // 2
            for column in range(U(whole)):
                left, right = U(2) * column, U(2) * column + U(1)
                red, green, blue = _means(upper, lower, left, right)
                blues[column] = b_red * red + b_green * green + b_blue * blue
                reds[column] = r_red * red + r_green * green + r_blue * blue
            for column in range(whole, wide // 2):
                left, right = U(min(2 * column, width - 1)), U(min(2 * column + 1, width - 1))
                red, green, blue = _means(upper, lower, left, right)
                blues[column] = b_red * red + b_green * green + b_blue * blue
                reds[column] = r_red * red + r_green * green + r_blue * blue
        _quantised(luma, dct, luma_steps, one, two)
        for kind in range(2):
            _quantised(chroma[kind], dct, chroma_steps, one, two)
        for row in range(height):
            line, shades, blues, reds = out[frame, row], luma[row], chroma[0, row // 2], chroma[1, row // 2]
            for column in range(U(width)):
                grey = shades[column] + MIDDLE
                blue, red = blues[column >> U(1)], reds[column >> U(1)]
                line[column, 0] = _byte(red_y * grey + red_b * blue + red_r * red)
                line[column, 1] = _byte(green_y * grey + green_b * blue + green_r * red)
                line[column, 2] = _byte(blue_y * grey + blue_b * blue + blue_r * red)


@kernel
def _means(upper, lower, left, right):
    """Mean colour of a block of two by two pixels."""
    return _mean(upper, lower, left, right, 0), _mean(upper, lower, left, right, 1), _mean(upper, lower, left, right, 2)


@kernel
def _mean(upper, lower, left, right, channel):
    """Mean of a block of two by two pixels."""
    first = F(upper[left, channel]) + F(lower[left, channel])
    second = F(upper[right, channel]) + F(lower[right, channel])
    return (first + second) * QUARTER
