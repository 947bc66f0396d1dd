"""Errors of a depth camera: jitter at edges, quantisation and holes. 0 means no depth.

Depth is read slightly beside its pixel, as in triangulation. A flat wall in front of the camera does not change, a
slanted surface becomes noisy, and at an edge the neighbouring surface may be read. Quantisation steps grow with the
square of the distance, as steps of disparity do. Holes appear where the sensor gets no light back: on grazing surfaces,
at edges, and on a reflecting table.
"""

import numpy as np

from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.kernels import compiled
from twinloop.observe.noise import NormalStream, normal_values
from twinloop.observe.projection import rays
from twinloop.randomize.imaging import ImageSettings

PATCH_PX = 4  # size of the patches of holes


FARTHEST_JITTER_M = 8.0


def sensed_depth(clip: Clip, settings: ImageSettings, *, rng: np.random.Generator) -> np.ndarray:
    """(f, h, w) float32 metres."""
    spread_px, step_mm, share = settings.depth_jitter_px, settings.depth_step_mm, settings.depth_holes
    if spread_px == 0 and step_mm == 0 and share == 0:
        return clip.depth_m
    height, width = clip.depth_m.shape[1:]
    # Each stage has its own random streams, so its noise does not depend on the settings of the others.
    jitter, blots, fine = NormalStream(rng), NormalStream(rng), NormalStream(rng)
    slant = Slant(clip) if share > 0 else None
    shine = np.float32(2 * settings.table_mirror)
    mirrored = share > 0 and shine > 0
    kept = height * width - round(share * height * width)
    kernels = compiled()
    if kernels is not None:
        truth, out = np.ascontiguousarray(clip.depth_m), np.empty(clip.depth_m.shape, np.float32)
        kernels.jitter(
            truth, spread_px, FARTHEST_JITTER_M, normal_values(), jitter.keys, step_mm / 1000, step_mm != 0, out
        )
        if slant is not None and kept < height * width:
            shines = shine * (clip.things.classes == CLASSES.index("table")) if mirrored else np.zeros(1)
            ids = np.ascontiguousarray(clip.geoms) if mirrored else np.zeros((len(truth), 1, 1), np.int16)
            patches = blots.normals(len(truth), -(-height // PATCH_PX), -(-width // PATCH_PX))
            lines, score = np.empty((2, width), np.float32), np.empty((height, width), np.float32)
            kernels.holes(
                truth, *slant.factors, patches, normal_values(), fine.keys, PATCH_PX, mirrored, ids,
                shines.astype(np.float32), kept, lines, score, score.reshape(-1), np.empty(1 << 11, np.int64),
                out.reshape(len(out), -1),
            )  # fmt: skip
        return out
    out = np.empty_like(clip.depth_m)
    mirrors = clip.class_ids == CLASSES.index("table") if mirrored else None
    for frame, truth in enumerate(clip.depth_m):
        depth = truth
        if spread_px > 0:
            depth = jittered(depth, spread_px, np.stack(jitter.normal_pairs(height, width)))
        depth = quantised(depth, step_mm)
        if slant is not None:
            score = slant.of(truth)
            score += _patches(height, width, blots, fine)
            if mirrors is not None:
                score += shine * mirrors[frame]
            depth = holed(depth, share, score)
        out[frame] = depth
    return out


def jittered(depth_m: np.ndarray, spread_px: float, shift: np.ndarray) -> np.ndarray:
    """Read each depth of an (h, w) image beside its pixel, by `spread_px` at 1 m and proportionally farther away."""
    height, width = depth_m.shape
    across, down = shift * (np.float32(spread_px) * np.minimum(depth_m, np.float32(FARTHEST_JITTER_M)))
    across += np.arange(width, dtype=np.float32)
    down += np.arange(height, dtype=np.float32)[:, None]
    for places, last in ((across, width - 1), (down, height - 1)):
        np.rint(places, out=places)
        np.clip(places, 0, last, out=places)
    down *= width
    down += across
    return depth_m.reshape(-1).take(down.astype(np.int32), mode="clip")


def quantised(depth_m: np.ndarray, step_mm: float) -> np.ndarray:
    """Quantise depth in steps of `step_mm` at 1 m: the disparity 1 / (step · z) becomes a whole number."""
    if step_mm == 0:
        return depth_m
    step = np.float32(step_mm / 1000)
    disparity = 1 / (step * depth_m)
    np.rint(disparity, out=disparity)
    np.maximum(disparity, 1, out=disparity)
    disparity *= step
    return np.divide(1, disparity, out=disparity)


class Slant:
    """Slant of the surface in each pixel: 0 if seen straight on, 1 if seen along it or at an edge.

    A point is z r, with r the pixel's ray. The surface's normal is the cross product of the point's steps to the right
    and down. Divided by z the normal is zᵤ (r × rᵥ) + zᵥ (rᵤ × r) + z (rᵤ × rᵥ); only zᵤ, zᵥ and z differ between
    images. Its component along r is z det(rᵤ, rᵥ, r).
    """

    def __init__(self, clip: Clip):
        # Components are separate arrays, because sums over a short last axis take ten times as long. The third
        # component of r is 1, and that of its steps is 0.
        x, y = (part.copy() for part in np.moveaxis(rays(clip.intrinsics, *clip.depth_m.shape[1:]), -1, 0)[:2])
        (x_right, y_right), (x_below, y_below) = ([np.gradient(part, axis=axis) for part in (x, y)] for axis in (1, 0))
        none = np.zeros_like(x)
        turned = x_right * y_below - y_right * x_below
        crosses = (
            (-y_below, x_below, x * y_below - y * x_below),
            (y_right, -x_right, x_right * y - y_right * x),
            (none, none, turned),
        )
        self._u, self._v, self._z = (np.array(cross, np.float32) for cross in crosses)
        self._along = (np.abs(turned) / np.sqrt(x * x + y * y + 1)).astype(np.float32)

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """Coefficients of zᵤ, zᵥ, z and of the component along r, for the compiled `holes`."""
        return self._u, self._v, self._z, self._along

    def of(self, depth_m: np.ndarray) -> np.ndarray:
        """(h, w) slant of one depth image."""
        square = np.zeros_like(depth_m)
        across, down = _steps(depth_m), _steps(depth_m.T).T
        for u, v, z in zip(self._u, self._v, self._z, strict=True):
            part = u * across
            part += v * down
            part += z * depth_m
            part *= part
            square += part
        np.sqrt(square, out=square)
        np.maximum(square, 1e-12, out=square)
        np.divide(self._along * depth_m, square, out=square)
        return np.subtract(1, square, out=square)


def _steps(depth_m: np.ndarray) -> np.ndarray:
    """Difference of depth between neighbouring pixels of a row."""
    out = np.empty_like(depth_m)
    np.subtract(depth_m[:, 2:], depth_m[:, :-2], out=out[:, 1:-1])
    out[:, 1:-1] *= 0.5
    out[:, 0], out[:, -1] = depth_m[:, 1] - depth_m[:, 0], depth_m[:, -1] - depth_m[:, -2]
    return out


def holed(depth_m: np.ndarray, share: float, score: np.ndarray) -> np.ndarray:
    """Remove the depth of the `share` of an (h, w) image's pixels with the highest score."""
    kept = score.size - round(share * score.size)
    if kept == score.size:
        return depth_m
    highest = np.partition(score, kept, axis=None)[kept]
    return np.where(score >= highest, np.float32(0), depth_m)


def _patches(height: int, width: int, noise: NormalStream, fine_noise: NormalStream) -> np.ndarray:
    """Noise in patches, because holes are larger than single pixels."""
    rows, columns = -(-height // PATCH_PX), -(-width // PATCH_PX)
    blots = noise.normals(rows, columns).repeat(PATCH_PX, axis=0).repeat(PATCH_PX, axis=1)[:height, :width]
    fine = fine_noise.normals(height, width)
    fine *= np.float32(0.3)
    fine += blots
    fine *= np.float32(0.35)
    return fine
