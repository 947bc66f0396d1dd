"""What a depth camera makes of depth: jittered at edges, in steps, with holes. 0 means no depth.

Depth is read a little beside its pixel. On a flat wall before the camera that changes nothing; the more a surface
slants the more noise it makes, and at an edge it picks the thing beside: as triangulation does. Steps grow with the
square of the distance, as those of a disparity do. Holes open where a sensor gets no light back: on grazing surfaces,
at edges, and on a table that mirrors.
"""

import numpy as np

from twinloop.observe.appearance import Values
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.projection import pixel_centres, rays
from twinloop.observe.sampling import nearest

PATCH_PX = 4  # size of the patches in which holes come


def sensed_depth(clip: Clip, values: Values, *, rng: np.random.Generator) -> np.ndarray:
    """(f, h, w) float32 metres."""
    truth = clip.depth_m
    # All noise is drawn first, so that each stage's is the same whatever the others are set to.
    shift, patches = rng.standard_normal((2, *truth.shape), np.float32), _patches(truth.shape, rng)
    depth = jittered(truth, values["depth_edge_noise_px"], shift)
    depth = quantised(depth, values["depth_quantisation_mm"])
    if values["depth_hole_share"] == 0:
        return depth
    score = grazing(clip) + 0.35 * patches
    if values["reflectance"] > 0:
        score = score + 2 * values["reflectance"] * (clip.class_ids == CLASSES.index("table"))
    return holed(depth, values["depth_hole_share"], score)


def jittered(depth_m: np.ndarray, spread_px: float, shift: np.ndarray) -> np.ndarray:
    """Read each depth beside its pixel, by `spread_px` at 1 m and in proportion further away."""
    if spread_px == 0:
        return depth_m
    centres = pixel_centres(*depth_m.shape[1:])
    reach = spread_px * np.minimum(depth_m, 8.0)
    return nearest(depth_m, centres[..., 0] + reach * shift[0], centres[..., 1] + reach * shift[1])


def quantised(depth_m: np.ndarray, step_mm: float) -> np.ndarray:
    """In steps of `step_mm` at 1 m: whole numbers of a disparity that is 1 / (step · z)."""
    if step_mm == 0:
        return depth_m
    step = step_mm / 1000
    disparity = np.maximum(np.round(1 / (step * depth_m.astype(np.float64))), 1)
    return (1 / (step * disparity)).astype(np.float32)


def grazing(clip: Clip) -> np.ndarray:
    """(f, h, w) 0 where the camera looks straight at a surface, 1 where along it or over an edge."""
    points = rays(clip.intrinsics, *clip.depth_m.shape[1:]).astype(np.float32)[None] * clip.depth_m[..., None]
    (ax, ay, az), (bx, by, bz) = (np.moveaxis(np.gradient(points, axis=axis), -1, 0) for axis in (2, 1))
    px, py, pz = np.moveaxis(points, -1, 0)
    # By components: np.cross and np.linalg.norm over a short last axis take ten times as long.
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    lengths = np.sqrt((nx * nx + ny * ny + nz * nz) * (px * px + py * py + pz * pz))
    return 1 - np.abs(nx * px + ny * py + nz * pz) / np.maximum(lengths, 1e-12)


def holed(depth_m: np.ndarray, share: float, score: np.ndarray) -> np.ndarray:
    """Take the depth of the `share` of each picture's pixels that score highest."""
    if share == 0 or len(depth_m) == 0:
        return depth_m
    highest = np.quantile(score, 1 - share, axis=(1, 2), keepdims=True)
    return np.where(score > highest, np.float32(0), depth_m)


def _patches(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Noise in patches: holes are blots, not single pixels."""
    frames, height, width = shape
    coarse = rng.standard_normal((frames, -(-height // PATCH_PX), -(-width // PATCH_PX)), np.float32)
    blots = coarse.repeat(PATCH_PX, axis=1).repeat(PATCH_PX, axis=2)[:, :height, :width]
    return blots + 0.3 * rng.standard_normal(shape, np.float32)
