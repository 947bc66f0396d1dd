"""Sample images between pixels, for lens, shutter and depth jitter."""

from dataclasses import dataclass

import numpy as np

from twinloop.observe.kernels import compiled

_TAKING = {
    (np.dtype(np.int16),): ("take_ids", np.int16),
    (np.dtype(np.float32),): ("take_numbers", np.float32),
    (np.dtype(np.float32), 2): ("take_vectors", np.uint64),
}
"""Type of a pixel -> the kernel that copies it, and the number as which it copies it."""

PART = 512
"""Places that the compiled interpolation processes together; they fit into the fastest cache."""
ONE = 256
"""One pixel in fixed point, for interpolation of bytes. Products of two bytes still fit into 16 bits."""


@dataclass(frozen=True)
class Between:
    """n places between pixels: (n,) the upper left of the four pixels around each, and the offsets across and down."""

    width: int
    first: np.ndarray
    across: np.ndarray
    down: np.ndarray

    def read(self, images: np.ndarray) -> np.ndarray:
        """Bilinear values of (f, h, w, 3) images of bytes, as other such images with n pixels."""
        out = np.empty_like(images)
        kernels = compiled()
        if kernels is not None:
            flat = np.ascontiguousarray(images).reshape(len(images), -1)
            kernels.bilinear(
                flat, self.first, self.width, self.across, self.down,
                np.empty(images.shape[1] * images.shape[2], np.uint32), np.empty((4, PART), np.uint32),
                out.reshape(len(images), -1),
            )  # fmt: skip
            return out
        for frame, image in enumerate(images):
            self._read(image, out[frame])
        return out

    def _read(self, image: np.ndarray, out: np.ndarray) -> None:
        # Four bytes are read as one number; three would take three times as long.
        padded = np.empty((*image.shape[:2], 4), np.uint8)
        copy_channels(image, padded)
        pixels, below = padded.view(np.uint32).reshape(-1), self.first + self.width
        # One offset per channel: NumPy is slow over a short last axis.
        across, down = (offsets[:, None].repeat(4, axis=1) for offsets in (self.across, self.down))
        upper = _mixed(pixels, self.first, self.first + 1, across)
        lower = _mixed(pixels, below, below + 1, across)
        upper *= ONE - down
        lower *= down
        upper += lower
        copy_channels(_rounded(upper).reshape(*out.shape[:2], -1), out)


def _mixed(pixels: np.ndarray, left: np.ndarray, right: np.ndarray, across: np.ndarray) -> np.ndarray:
    a, b = (pixels.take(which, mode="clip").view(np.uint8).reshape(-1, 4).astype(np.uint16) for which in (left, right))
    a *= ONE - across
    b *= across
    a += b
    return _rounded(a).astype(np.uint16)


def _rounded(mixed: np.ndarray) -> np.ndarray:
    # The largest value is 255 · 256, so adding half a unit does not overflow.
    mixed += np.uint16(ONE // 2)
    mixed >>= np.uint16(8)
    return mixed.astype(np.uint8)


def copy_channels(image: np.ndarray, to: np.ndarray) -> None:
    """Copy the channels that both arrays have, one by one. Pixel by pixel NumPy takes five times as long."""
    for channel in range(min(image.shape[-1], to.shape[-1])):
        to[..., channel] = image[..., channel]


def between(u: np.ndarray, v: np.ndarray, height: int, width: int) -> Between:
    """Places at (n,) pixel coordinates; coordinates beyond the edge are clamped."""
    x, y = np.clip(u - 0.5, 0, width - 1), np.clip(v - 0.5, 0, height - 1)
    left, top = np.minimum(x.astype(np.intp), width - 2), np.minimum(y.astype(np.intp), height - 2)
    across, down = (np.round(ONE * part).astype(np.uint16) for part in (x - left, y - top))
    return Between(width, (top * width + left).astype(np.int32), across, down)


def nearest(images: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Nearest values of (f, h, w) or (f, h, w, c) images at pixel coordinates (f or 1, ...).

    For values that must not be interpolated: depth, ids, velocities. Coordinates beyond the edge are clamped.
    """
    height, width = images.shape[1:3]
    places = nearest_pixels(u, v, height, width)
    if len(places) == 1 and len(images) != 1:
        # The places are the same in every image.
        return taken(images, places[0])
    flat = images.reshape(len(images), height * width, *images.shape[3:])
    return flat[np.arange(len(images))[:, None, None], places]


def nearest_pixels(u: np.ndarray, v: np.ndarray, height: int, width: int) -> np.ndarray:
    """Number of the pixel at each coordinate, row by row; coordinates beyond the edge are clamped."""
    columns = np.clip(np.floor(u).astype(np.intp), 0, width - 1)
    rows = np.clip(np.floor(v).astype(np.intp), 0, height - 1)
    return rows * width + columns


def taken(images: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(f, *places.shape, ...) values of (f, h, w, ...) images at the same pixels in each of them."""
    height, width = images.shape[1:3]
    kernels, kind = compiled(), (images.dtype, *images.shape[3:])
    if kernels is None or kind not in _TAKING or not images.flags.c_contiguous:
        return images.reshape(len(images), height * width, *images.shape[3:]).take(places, axis=1)
    name, number = _TAKING[kind]
    flat = images.reshape(len(images), -1).view(number)
    out = np.empty((len(images), *places.shape, *images.shape[3:]), images.dtype)
    getattr(kernels, name)(flat, places.reshape(-1), out.reshape(len(images), -1).view(number))
    return out
