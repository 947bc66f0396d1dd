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


def through_lens(clip: Clip, distortion: float) -> Clip:
    """Apply distortion to image, depth, masks and velocities alike, so that labels stay correct.

    Pixels from beyond the rendered edge, which barrel distortion needs, repeat the edge.
    """
    if distortion == 0:
        return clip
    bent = replace(clip.intrinsics, distortion=distortion)
    places, whole = _sources(bent, clip.camera.height, clip.camera.width)
    rgb = np.empty_like(clip.rgb)
    for frame, picture in enumerate(clip.rgb):
        places.read(picture, rgb[frame])
    return replace(
        clip,
        intrinsics=bent,
        rgb=rgb,
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
    are visible only if the lamp is in front of the camera.
    """

    def __init__(self, light_px: np.ndarray, strength: float, intrinsics: Intrinsics, height: int, width: int):
        """light_px: (f, 3) pixel of the lamp, and whether it is in front of the camera."""
        self._light_px, self._strength, self._intrinsics = light_px, strength, intrinsics
        size = intrinsics.half_diagonal_px
        self._x = ((np.arange(width) + 0.5 - intrinsics.cx) / size).astype(np.float32)
        self._y = ((np.arange(height) + 0.5 - intrinsics.cy) / size).astype(np.float32)[:, None]
        self._glare, self._of = np.zeros((height, width, 3), np.float32), np.full(3, np.nan)

    def of(self, frame: int) -> np.ndarray:
        """(h, w, 3) light to add."""
        # A fixed camera sees the lamp at the same pixel in every image, so this is computed once.
        if not np.array_equal(self._light_px[frame], self._of):
            self._of = self._light_px[frame]
            self._draw(self._of[:2], bool(self._of[2]))
        return self._glare

    def _draw(self, lamp_px: np.ndarray, before: bool) -> None:
        """Compute veil and ghosts for one position of the lamp. Lengths are in half diagonals from the centre."""
        intrinsics = self._intrinsics
        offset = (lamp_px - (intrinsics.cx, intrinsics.cy)) / intrinsics.half_diagonal_px
        # A lamp far outside the image causes a veil from its edge.
        offset = offset * min(1.0, 1.15 / max(float(np.linalg.norm(offset)), 1e-9))
        veil = (1.0 if before else 0.35) * self._strength / (1 + self._square(offset, 0.5))
        for channel, tint in enumerate((1.0, 0.96, 0.88)):
            np.multiply(veil, np.float32(tint), out=self._glare[..., channel])
        for along, radius, share, colour in GHOSTS if before else ():
            ghost = np.exp(-np.square(self._square(along * offset, radius)))
            for channel, tint in enumerate(colour):
                self._glare[..., channel] += np.float32(share * tint * self._strength) * ghost

    def _square(self, place: np.ndarray, radius: float) -> np.ndarray:
        """(h, w) squared distance of each pixel from a place, in units of `radius`."""
        x, y = (
            (self._x - np.float32(place[0])) / np.float32(radius),
            (self._y - np.float32(place[1])) / np.float32(radius),
        )
        return x * x + y * y


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
    reach = max(1, int(np.ceil(3 * spread_px)))
    places = np.arange(-reach, reach + 1)
    # Each weight is the integral of the Gaussian over one pixel, which is right even for one narrower than a pixel.
    ends = np.concatenate([places - 0.5, [reach + 0.5]]) / (np.sqrt(2) * spread_px)
    shares = np.diff([erf(end) for end in ends])
    kernels = compiled()
    if kernels is not None and light.shape[2] == 3:
        out, vertical = np.empty_like(light), np.empty_like(light)
        padded = np.empty(3 * (light.shape[1] + 2 * reach), np.float32)
        kernels.defocus(light, (shares / shares.sum()).astype(np.float32), padded, vertical, out)
        return out
    for axis in (0, 1):
        around = [(reach, reach) if number == axis else (0, 0) for number in range(light.ndim)]
        padded, size = np.pad(light, around, mode="edge"), light.shape[axis]
        light = np.zeros_like(light)
        for place, share in enumerate(shares / shares.sum()):
            moved = padded[place : place + size] if axis == 0 else padded[:, place : place + size]
            light += np.float32(share) * moved
    return light
