"""The lens: distortion, flare, vignette and defocus."""

from dataclasses import replace
from functools import lru_cache
from math import erf

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.clip import Clip
from twinloop.observe.kernels import compiled
from twinloop.observe.projection import centred_pixels, pixel_centres
from twinloop.observe.sampling import Between, between, nearest_pixels, taken

# Place on the line from the lamp through the centre, size, brightness, colour.
GHOSTS = (
    (-0.35, 0.10, 0.35, (0.6, 1.0, 0.7)),
    (-0.62, 0.17, 0.25, (0.7, 0.8, 1.0)),
    (0.42, 0.06, 0.4, (1.0, 0.8, 0.5)),
)


VEIL = (1.0, 0.96, 0.88)
"""Colour of the veil."""


def through_lens(clip: Clip, distortion: float) -> Clip:
    """Apply distortion to image, depth, masks and velocities alike, so that labels stay correct.

    Pixels from beyond the rendered edge, which barrel distortion needs, repeat the edge.
    """
    if distortion == 0:
        return clip
    bent = replace(clip.intrinsics, distortion=distortion)
    places, whole = _sources(bent, clip.camera.height, clip.camera.width)
    return replace(
        clip,
        intrinsics=bent,
        rgb=places.read(clip.rgb),
        depth_m=taken(clip.depth_m, whole),
        geom_ids=None if clip.geom_ids is None else taken(clip.geom_ids, whole),
        pixel_velocity=None if clip.pixel_velocity is None else taken(clip.pixel_velocity, whole),
    )


@lru_cache(maxsize=128)
def _sources(bent: Intrinsics, height: int, width: int) -> tuple[Between, np.ndarray]:
    """Where the pixels of a distorted image are in the rendered one: between pixels, and the nearest of them."""
    source = np.add(centred_pixels(bent, height, width), (bent.cx, bent.cy))
    u, v = source[..., 0], source[..., 1]
    return between(u.ravel(), v.ravel(), height, width), nearest_pixels(u, v, height, width)


class Flare:
    """The veil and the ghosts of the brightest lamp, frame by frame.

    The veil is brightest towards the lamp. Ghosts lie on the line from the lamp through the centre of the image and
    are visible only if the lamp is in front of the camera. Lengths are in half diagonals from the centre.

    Attributes:
        x, y: (w,) and (h,) places of the pixels.
        lamps: (f, 4) place of the lamp, strength of the veil, number of ghosts.
        ghosts: (f, 3, 3) place and size of each ghost.
        tints: (4, 3) colours of the veil and of the ghosts.
    """

    def __init__(self, light_px: np.ndarray, strength: float, intrinsics: Intrinsics, height: int, width: int):
        """light_px: (f, 3) pixel of the lamp, and whether it is in front of the camera."""
        size, centre = intrinsics.half_diagonal_px, (intrinsics.cx, intrinsics.cy)
        self.x = ((np.arange(width) + 0.5 - intrinsics.cx) / size).astype(np.float32)
        self.y = ((np.arange(height) + 0.5 - intrinsics.cy) / size).astype(np.float32)
        offset = np.subtract(light_px[:, :2], centre) / size
        # A lamp far outside the image causes a veil from its edge.
        offset = offset * np.minimum(1.0, 1.15 / np.maximum(np.linalg.norm(offset, axis=1, keepdims=True), 1e-9))
        before = light_px[:, 2] > 0
        veil, count = np.where(before, strength, 0.35 * strength), np.where(before, len(GHOSTS), 0)
        self.lamps = np.column_stack([offset, veil, count]).astype(np.float32)
        along, radius, share, colour = (np.array(values) for values in zip(*GHOSTS, strict=True))
        self.ghosts = np.empty((len(light_px), len(GHOSTS), 3), np.float32)
        self.ghosts[..., :2], self.ghosts[..., 2] = along[:, None] * offset[:, None], radius
        self.tints = np.concatenate([[VEIL], strength * share[:, None] * colour]).astype(np.float32)
        self._glare, self._of = np.zeros((height, width, 3), np.float32), np.full(4, np.nan)

    def of(self, frame: int) -> np.ndarray:
        """(h, w, 3) light to add."""
        # A fixed camera sees the lamp at the same pixel in every image, so this is computed once.
        if not np.array_equal(self.lamps[frame], self._of):
            self._of = self.lamps[frame]
            self._draw(frame)
        return self._glare

    def _draw(self, frame: int) -> None:
        """Compute veil and ghosts for one position of the lamp."""
        x, y, strength, count = self.lamps[frame]
        veil = strength / (np.float32(1) + self._square(x, y, np.float32(0.5)))
        for channel, tint in enumerate(self.tints[0]):
            np.multiply(veil, tint, out=self._glare[..., channel])
        for ghost in range(int(count)):
            light = self._square(*self.ghosts[frame, ghost])
            # Bright in the middle, with a soft edge.
            light *= light
            light *= light
            light = 1 / (1 + light)
            for channel, tint in enumerate(self.tints[1 + ghost]):
                self._glare[..., channel] += tint * light

    def _square(self, x: np.float32, y: np.float32, radius: np.float32) -> np.ndarray:
        """(h, w) squared distance of each pixel from a place, in units of `radius`."""
        across, down = (self.x - x) / radius, ((self.y - y) / radius)[:, None]
        return across * across + down * down


@lru_cache(maxsize=128)
def vignette(height: int, width: int, strength: float) -> np.ndarray:
    """(h, w) transmitted share of the light by the cos⁴ law. The corners lose `strength`."""
    centre = np.array([width, height]) / 2
    square = np.square((pixel_centres(height, width) - centre) / np.linalg.norm(centre)).sum(axis=-1)
    # cos⁴ = 1 / (1 + tan²)²; the tangent at the corner is chosen so that 1 - strength is left there.
    corner = 1 / np.sqrt(max(1 - strength, 1e-4)) - 1
    return (1 / (1 + corner * square) ** 2).astype(np.float32)


def defocused(light: np.ndarray, spread_px: float) -> np.ndarray:
    """(h, w, c) light after a Gaussian blur of this deviation; the edge of the image is repeated."""
    shares = defocus_shares(spread_px)
    reach = len(shares) // 2
    kernels = compiled()
    if kernels is not None and light.shape[2] == 3:
        rows = np.ascontiguousarray(light).reshape(len(light), -1)
        out, vertical = np.empty_like(rows), np.empty_like(rows)
        kernels.defocus(rows, shares, np.empty(3 * (light.shape[1] + 2 * reach), np.float32), vertical, out)
        return out.reshape(light.shape)
    for axis in (0, 1):
        around = [(reach, reach) if number == axis else (0, 0) for number in range(light.ndim)]
        padded, size = np.pad(light, around, mode="edge"), light.shape[axis]
        light = np.zeros_like(light)
        for place, share in enumerate(shares):
            moved = padded[place : place + size] if axis == 0 else padded[:, place : place + size]
            light += share * moved
    return light


def defocus_shares(spread_px: float) -> np.ndarray:
    """(2 n + 1,) float32 weights of the pixels around one, along one axis, of a Gaussian of this deviation."""
    reach = max(1, int(np.ceil(3 * spread_px)))
    places = np.arange(-reach, reach + 1)
    # Each weight is the integral of the Gaussian over one pixel, which is right even for one narrower than a pixel.
    ends = np.concatenate([places - 0.5, [reach + 0.5]]) / (np.sqrt(2) * spread_px)
    shares = np.diff([erf(end) for end in ends])
    return (shares / shares.sum()).astype(np.float32)
