"""Numba functions that read images between pixels or at other pixels; see `compiled_kernels` and `sampling`."""

import numpy as np

from twinloop.observe.compiled_kernels import U, kernel


@kernel
def bilinear(images, first, width, across, down, packed, parts, out):
    """Fixed-point interpolation of (f, 3 · pixels) bytes at n places; see `sampling.Between`.

    Args:
        packed: scratch memory, (pixels,). A pixel is one number there, and two of its channels are computed together:
            products of two bytes fit into 16 bits.
        parts: scratch memory, (4, m); so many places are processed together. Reading pixels is apart from computing,
            so that several places are computed at once.
    """
    full, eight, sixteen, second = np.uint32(256), np.uint32(8), np.uint32(16), np.uint32(0xFF00)
    byte, pair, half, halves = np.uint32(0xFF), np.uint32(0xFF00FF), np.uint32(128), np.uint32(0x800080)
    one, two, three, below = U(1), U(2), U(3), U(width)
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    for frame in range(len(images)):
        image, line = images[frame], out[frame]
        for i in range(U(packed.size)):
            place = three * i
            packed[i] = (
                image[place] | (np.uint32(image[place + one]) << eight) | (np.uint32(image[place + two]) << sixteen)
            )
        for start in range(0, first.size, a.size):
            count, begin = U(min(a.size, first.size - start)), U(start)
            for i in range(count):
                place = U(first[begin + i])
                a[i], b[i] = packed[place], packed[place + one]
                c[i], d[i] = packed[place + below], packed[place + below + one]
            for i in range(count):
                share, deep = np.uint32(across[begin + i]), np.uint32(down[begin + i])
                rest, shallow = full - share, full - deep
                upper = (((a[i] & pair) * rest + (b[i] & pair) * share + halves) >> eight) & pair
                lower = (((c[i] & pair) * rest + (d[i] & pair) * share + halves) >> eight) & pair
                both = ((upper * shallow + lower * deep + halves) >> eight) & pair
                upper = (((a[i] >> eight) & byte) * rest + ((b[i] >> eight) & byte) * share + half) >> eight
                lower = (((c[i] >> eight) & byte) * rest + ((d[i] >> eight) & byte) * share + half) >> eight
                a[i] = both | ((upper * shallow + lower * deep + half) & second)
            for i in range(count):
                place = three * (begin + i)
                line[place], line[place + one], line[place + two] = (
                    np.uint8(a[i]), np.uint8(a[i] >> eight), np.uint8(a[i] >> sixteen)
                )  # fmt: skip


@kernel
def take_ids(images, places, out):
    """Pixels of (f, pixels) images at n places, which are the same in each; int16."""
    _take(images, places, out)


@kernel
def take_numbers(images, places, out):
    """`take_ids` for float32."""
    _take(images, places, out)


@kernel
def take_vectors(images, places, out):
    """`take_ids` for pairs of float32, as one number of eight bytes."""
    _take(images, places, out)


@kernel
def _take(images, places, out):
    for frame in range(len(images)):
        image, line = images[frame], out[frame]
        for i in range(places.size):
            line[i] = image[U(places[i])]
