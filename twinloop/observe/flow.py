"""How fast every pixel moves, from the poses of all bodies and of the camera: exact, since nothing is guessed.

A point seen at depth z in a pixel belongs to a geom; where that geom and the camera are one period later says where
the point will be seen then.
"""

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.projection import inverse, rays

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
    """(f, h, w, 2) pixels a second. Each pair is (now, one period later): (f, geoms, 4, 4) and (f, 4, 4).

    bodies: (geoms + 1,) the body of every geom; the last entry, for pixels of no geom (-1), is the world, 0.
    """
    now, later = geoms_to_world
    still = np.broadcast_to(np.eye(4), (len(now), 1, 4, 4))
    _, first, body = np.unique(bodies, return_index=True, return_inverse=True)
    moved = np.concatenate([later @ inverse(now), still], axis=1)[:, first]
    carried = inverse(camera_to_world[1])[:, None] @ moved @ camera_to_world[0][:, None]
    # What stands in the world moves in the picture as the world does: most of it is one motion.
    motion = np.where(_rests(moved), 0, np.arange(len(first)))[:, body].astype(np.uint16)
    resting, carried = _rests(carried), carried.astype(np.float32)
    height, width = depth_m.shape[1:]
    ray_x, ray_y, _ = rays(intrinsics, height, width).reshape(-1, 3).T.astype(np.float32)
    scale = np.float32(intrinsics.fx / period_s)
    velocity = np.zeros((*depth_m.shape, 2), np.float32)
    for frame in range(len(depth_m)):
        # A pixel's u and v are written as one number.
        out, depth = velocity[frame].reshape(-1).view(np.complex64), depth_m[frame].reshape(-1)
        motions = motion[frame].take(geom_ids[frame].reshape(-1), mode="wrap")
        # Motion by motion: one matrix for all pixels that share it, and none for those that stand still.
        for number in np.flatnonzero(~resting[frame]):
            pixels = np.flatnonzero(motions == number)
            if len(pixels):
                sides = ray_x.take(pixels, mode="clip"), ray_y.take(pixels, mode="clip")
                step = _step(*sides, depth.take(pixels, mode="clip"), carried[frame, number])
                step *= scale
                out[pixels] = step
    return velocity


def _rests(moved: np.ndarray) -> np.ndarray:
    return np.abs(moved - np.eye(4)).max(axis=(-2, -1)) < AT_REST


def _step(x: np.ndarray, y: np.ndarray, z: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """(n,) complex: by how much the rays to points at depths z, through x and y at depth 1, go right and down.

    0 for a point that ends behind the camera. As drawn: there is no lens in it yet.
    """
    step = np.zeros(len(x), np.complex64)
    # (R (x, y, 1) z + t) / z keeps its direction, and saves two products.
    nearer = 1 / z
    right, below, ahead = (row[0] * x + row[1] * y + row[2] + row[3] * nearer for row in matrix[:3])
    before = ahead > 1e-6
    with np.errstate(divide="ignore", invalid="ignore"):
        step.real, step.imag = right / ahead - x, below / ahead - y
    step[~before] = 0
    return step
