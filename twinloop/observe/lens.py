"""The lens: what it bends, what it scatters and what it loses towards the corners."""

from dataclasses import replace

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.clip import Clip
from twinloop.observe.projection import pixel_centres, undistorted
from twinloop.observe.sampling import between, nearest

# Where on the line from the lamp through the centre, how large, how bright, which colour.
GHOSTS = (
    (-0.35, 0.10, 0.35, (0.6, 1.0, 0.7)),
    (-0.62, 0.17, 0.25, (0.7, 0.8, 1.0)),
    (0.42, 0.06, 0.4, (1.0, 0.8, 0.5)),
)


def through_lens(clip: Clip, distortion: float) -> Clip:
    """The clip as a lens bends it: picture, depth, masks and velocities alike, so that labels stay true.

    Beyond the edge of what was drawn, which a barrel pulls in, the edge goes on.
    """
    if distortion == 0:
        return clip
    bent = replace(clip.intrinsics, distortion=distortion)
    centre = (bent.cx, bent.cy)
    source = undistorted(pixel_centres(clip.camera.height, clip.camera.width) - centre, bent) + centre
    u, v = source[None, ..., 0], source[None, ..., 1]
    places = between(u.ravel(), v.ravel(), clip.camera.height, clip.camera.width)
    rgb = np.empty_like(clip.rgb)
    for frame, picture in enumerate(clip.rgb):
        rgb[frame] = np.round(places.read(picture.astype(np.float32))).reshape(picture.shape)
    return replace(
        clip,
        intrinsics=bent,
        rgb=rgb,
        depth_m=nearest(clip.depth_m, u, v),
        geom_ids=None if clip.geom_ids is None else nearest(clip.geom_ids, u, v),
        pixel_velocity=None if clip.pixel_velocity is None else nearest(clip.pixel_velocity, u, v),
    )


def flare(light: np.ndarray, light_px: np.ndarray, strength: float, intrinsics: Intrinsics) -> np.ndarray:
    """Add the veil and the ghosts of the brightest lamp.

    The veil is brightest towards the lamp. Ghosts lie on the line from the lamp through the centre of the image and
    are seen only when the lamp stands before the camera.
    """
    if strength == 0:
        return light
    centre, size = np.array([intrinsics.cx, intrinsics.cy]), intrinsics.half_diagonal_px
    grid = ((pixel_centres(*light.shape[1:3]) - centre) / size).astype(np.float32)
    # A fixed camera sees the lamp where it is in every picture: worked out once.
    lamps, which = np.unique(light_px, axis=0, return_inverse=True)
    glare = [_glare(grid, (lamp[:2] - centre) / size, bool(lamp[2])) for lamp in lamps]
    out = light.copy()
    for frame, lamp in enumerate(which.ravel()):
        out[frame] += np.float32(strength) * glare[lamp]
    return out


def _glare(grid: np.ndarray, offset: np.ndarray, before: bool) -> np.ndarray:
    """(h, w, 3) veil and ghosts; grid and lamp in half diagonals from the centre."""
    # A lamp far outside the view still veils it, from the edge.
    offset = offset * min(1.0, 1.15 / max(float(np.linalg.norm(offset)), 1e-9))

    def square(place: np.ndarray, radius: float) -> np.ndarray:
        return np.square((grid - place.astype(np.float32)) / np.float32(radius)).sum(axis=-1)[..., None]

    veil = (1.0 if before else 0.35) / (1 + square(offset, 0.5)) * np.array([1.0, 0.96, 0.88], np.float32)
    for along, radius, share, colour in GHOSTS if before else ():
        ghost = np.exp(-np.square(square(along * offset, radius)))
        veil = veil + share * ghost * np.array(colour, np.float32)
    return veil.astype(np.float32)


def vignette(light: np.ndarray, strength: float) -> np.ndarray:
    """Lose `strength` of the light in the corners, with the fourth power of the cosine that leads there."""
    if strength == 0:
        return light
    height, width = light.shape[1:3]
    centre = np.array([width, height]) / 2
    square = np.square((pixel_centres(height, width) - centre) / np.linalg.norm(centre)).sum(axis=-1)
    # cos⁴ = 1 / (1 + tan²)²; the corner's tangent is the one that leaves 1 - strength.
    corner = 1 / np.sqrt(max(1 - strength, 1e-4)) - 1
    return light * (1 / (1 + corner * square) ** 2).astype(np.float32)[None, ..., None]
