"""The lens: what it bends, what it scatters and what it loses towards the corners."""

from dataclasses import replace

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.clip import Clip
from twinloop.observe.projection import pixel_centres, undistorted
from twinloop.observe.sampling import bilinear, nearest


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
    return replace(
        clip,
        intrinsics=bent,
        rgb=np.round(bilinear(clip.rgb.astype(np.float32), u, v)).astype(np.uint8),
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
    height, width = light.shape[1:3]
    size = intrinsics.half_diagonal_px
    centre = np.array([intrinsics.cx, intrinsics.cy])
    offset = (light_px[:, :2] - centre) / size
    # A lamp far outside the view still veils it, from the edge.
    offset = offset * np.minimum(1, 1.15 / np.maximum(np.linalg.norm(offset, axis=1, keepdims=True), 1e-9))
    grid = (pixel_centres(height, width) - centre) / size

    def glow(place: np.ndarray, radius: float, power: float) -> np.ndarray:
        distance = np.linalg.norm(grid[None] - place[:, None, None, :], axis=-1)
        return np.exp(-((distance / radius) ** power))[..., None]

    before = light_px[:, 2][:, None, None, None]
    added = (0.35 + 0.65 * before) * glow(offset, 0.9, 1.2) * np.array([1.0, 0.96, 0.88])
    for along, radius, share, colour in (
        (-0.35, 0.10, 0.35, (0.6, 1.0, 0.7)),
        (-0.62, 0.17, 0.25, (0.7, 0.8, 1.0)),
        (0.42, 0.06, 0.4, (1.0, 0.8, 0.5)),
    ):
        added = added + before * share * glow(along * offset, radius, 4.0) * np.array(colour)
    return light + (strength * added).astype(np.float32)


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
