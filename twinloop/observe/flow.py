"""Exact optical flow of every pixel, from the poses of all bodies and of the camera.

A pixel with depth z shows a point of a known geom. The poses of this geom and of the camera one period later give the
pixel of the point at that time.
"""

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.kernels import compiled
from twinloop.observe.projection import inverse, ray_slopes

AT_REST = 1e-9


def pixel_velocity(
    depth_m: np.ndarray,
    geom_ids: np.ndarray,
    bodies: np.ndarray,
    geoms_to_world: tuple[np.ndarray, np.ndarray],
    camera_to_world: tuple[np.ndarray, np.ndarray],
    intrinsics: Intrinsics,
    period_s: float,
) -> np.ndarray:
    """(f, h, w, 2) pixels per second. Each pair is (now, one period later): (f, geoms, 4, 4) and (f, 4, 4).

    bodies: (geoms + 1,) the body of every geom; the last entry, for pixels of no geom (-1), is the world, 0.
    """
    now, later = geoms_to_world
    _, first, body = np.unique(bodies, return_index=True, return_inverse=True)
    moved = np.tile(np.eye(4), (len(now), len(first), 1, 1))
    # One geom of each body is enough. The world has none if all its pixels are of no geom.
    known = np.flatnonzero(first < now.shape[1])
    moved[:, known] = later[:, first[known]] @ inverse(now[:, first[known]])
    carried = inverse(camera_to_world[1])[:, None] @ moved @ camera_to_world[0][:, None]
    # Static bodies move in the image as the world does. Motion 0 means none.
    motion = np.where(_rests(moved), 0, np.arange(len(first)))
    motion = np.where(np.take_along_axis(_rests(carried), motion, axis=1), 0, motion + 1)[:, body].astype(np.uint16)
    # (f, 12, motions), so that the numbers of a motion are gathered for all pixels at once.
    matrices = np.pad(carried[:, :, :3].reshape(*carried.shape[:2], 12), ((0, 0), (1, 0), (0, 0)))
    matrices = matrices.swapaxes(1, 2).astype(np.float32)
    height, width = depth_m.shape[1:]
    ray_x, ray_y = ray_slopes(intrinsics, height, width)
    scale = np.float32(intrinsics.fx / period_s)
    velocity = np.zeros((*depth_m.shape, 2), np.float32)
    kernels = compiled()
    if kernels is not None:
        shape = len(depth_m), height * width
        kernels.flow(
            np.ascontiguousarray(depth_m).reshape(shape), np.ascontiguousarray(geom_ids).reshape(shape),
            np.ascontiguousarray(motion), np.ascontiguousarray(matrices), ray_x, ray_y, scale,
            velocity.reshape(*shape, 2),
        )  # fmt: skip
        return velocity
    for frame in range(len(depth_m)):
        motions = motion[frame].take(geom_ids[frame].reshape(-1), mode="wrap")
        pixels = np.flatnonzero(motions)
        x, y, z, which = (values.take(pixels, mode="clip") for values in (ray_x, ray_y, depth_m[frame], motions))
        # A pixel's u and v are written as one number.
        velocity[frame].reshape(-1).view(np.complex64)[pixels] = scale * _step(x, y, z, matrices[frame], which)
    return velocity


def _rests(moved: np.ndarray) -> np.ndarray:
    return np.abs(moved - np.eye(4)).max(axis=(-2, -1)) < AT_REST


def _step(x: np.ndarray, y: np.ndarray, z: np.ndarray, matrices: np.ndarray, which: np.ndarray) -> np.ndarray:
    """(n,) complex64: shift, right and down, of the rays to points at depths z, which pass through x and y at depth 1.

    It is 0 for a point that ends behind the camera. Lens distortion is not included.
    """
    # (R (x, y, 1) z + t) / z has the same direction and saves two products.
    nearer = 1 / z
    ends = []
    for row in matrices.reshape(3, 4, -1):
        a, b, end, d = (part.take(which, mode="clip") for part in row)
        a *= x
        b *= y
        d *= nearer
        end += a
        end += b
        end += d
        ends.append(end)
    right, below, ahead = ends
    before = ahead > 1e-6
    np.copyto(ahead, 1, where=~before)
    step = np.empty(len(x), np.complex64)
    step.real, step.imag = right / ahead - x, below / ahead - y
    step *= before
    return step
