"""From camera frames to pixels and back: u = fx x/z + cx, v = fy y/z + cy, then the lens."""

from functools import lru_cache

import numpy as np

from twinloop.observe.camera import Intrinsics


def project(points_in_camera: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """(..., 2) pixels of (..., 3) points; NaN for points that are not in front of the camera."""
    x, y, z = np.moveaxis(points_in_camera, -1, 0)
    z = np.where(z > 1e-6, z, np.nan)
    centred = np.stack([intrinsics.fx * x / z, intrinsics.fy * y / z], axis=-1)
    return np.add(distorted(centred, intrinsics), (intrinsics.cx, intrinsics.cy))


def distorted(centred_px: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """Pixels after lens distortion of pixels of a pinhole camera; both are relative to the centre of the image."""
    square = np.square(centred_px).sum(axis=-1, keepdims=True) / intrinsics.half_diagonal_px**2
    return centred_px * (1 + intrinsics.distortion * square)


def undistorted(centred_px: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """The inverse of `distorted`, by Newton's method on the radius r (1 + k r²) = s."""
    k = intrinsics.distortion
    seen = np.sqrt(np.square(centred_px).sum(axis=-1, keepdims=True)) / intrinsics.half_diagonal_px
    # The curve of barrel distortion turns back at 1 / √(-3k). Points beyond are in no image and are clamped there.
    furthest = 0.98 / np.sqrt(-3 * k) if k < 0 else np.inf
    radius = np.minimum(seen, furthest)
    for _ in range(8):
        radius = radius - (radius * (1 + k * radius**2) - seen) / (1 + 3 * k * radius**2)
        radius = np.clip(radius, 0, furthest)
    return centred_px * np.where(seen > 0, radius / np.where(seen > 0, seen, 1), 1)


def pixel_centres(height: int, width: int) -> np.ndarray:
    """(height, width, 2) u and v."""
    return np.stack(np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5), axis=-1)


@lru_cache(maxsize=16)
def centred_pixels(intrinsics: Intrinsics, height: int, width: int) -> np.ndarray:
    """(height, width, 2) where a pinhole camera would see the pixels' centres, relative to the centre of the image.

    It is kept, because lens and depth of a camera both need it.
    """
    centred = pixel_centres(height, width) - (intrinsics.cx, intrinsics.cy)
    if intrinsics.distortion:
        centred = undistorted(centred, intrinsics)
    centred.flags.writeable = False
    return centred


def rays(intrinsics: Intrinsics, height: int, width: int) -> np.ndarray:
    """(height, width, 3) points at depth 1 on the rays of the pixels' centres; times depth, the visible point."""
    flat = centred_pixels(intrinsics, height, width) / (intrinsics.fx, intrinsics.fy)
    return np.concatenate([flat, np.ones((height, width, 1))], axis=-1)


@lru_cache(maxsize=256)
def ray_slopes(intrinsics: Intrinsics, height: int, width: int) -> np.ndarray:
    """(2, pixels) float32 x and y of `rays`, kept because live cameras need them for every image."""
    slopes = np.ascontiguousarray(rays(intrinsics, height, width).reshape(-1, 3).T[:2], np.float32)
    slopes.flags.writeable = False
    return slopes


def inverse(poses: np.ndarray) -> np.ndarray:
    """(..., 4, 4) inverse of rigid poses: b_to_a of a_to_b."""
    turned = np.swapaxes(poses[..., :3, :3], -1, -2)
    out = np.zeros_like(poses)
    out[..., :3, :3], out[..., 3, 3] = turned, 1
    out[..., :3, 3] = -(turned @ poses[..., :3, 3:])[..., 0]
    return out
