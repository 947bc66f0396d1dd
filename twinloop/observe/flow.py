"""How fast every pixel moves, from the poses of all bodies and of the camera: exact, since nothing is guessed.

A point seen at depth z in a pixel belongs to a geom; where that geom and the camera are one period later says where
the point will be seen then.
"""

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.projection import inverse, pixel_centres, rays

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
    motion = np.where(_rests(moved), 0, np.arange(len(first)))
    resting = _rests(carried)
    height, width = depth_m.shape[1:]
    centres = np.ascontiguousarray(pixel_centres(height, width).reshape(-1, 2).T, np.float32)
    looked_at = np.ascontiguousarray(rays(intrinsics, height, width).reshape(-1, 3).T, np.float32)
    velocity = np.zeros((*depth_m.shape, 2), np.float32)
    for frame, (depth, ids) in enumerate(zip(depth_m, geom_ids, strict=True)):
        # A pixel's u and v are written as one number.
        out = velocity[frame].reshape(-1).view(np.complex64)
        motions = motion[frame][body].take(ids.reshape(-1), mode="wrap")
        # Motion by motion: one matrix for all pixels that share it, and none for those that stand still.
        for number in np.flatnonzero(np.bincount(motions)):
            if resting[frame, number]:
                continue
            pixels = np.flatnonzero(motions == number)
            points = looked_at.take(pixels, axis=1) * depth.reshape(-1).take(pixels)
            step = _step(points, carried[frame, number].astype(np.float32), intrinsics, centres.take(pixels, axis=1))
            step /= np.float32(period_s)
            out[pixels] = step.T.copy().view(np.complex64)[:, 0]
    return velocity


def _rests(moved: np.ndarray) -> np.ndarray:
    return np.abs(moved - np.eye(4)).max(axis=(-2, -1)) < AT_REST


def _step(points: np.ndarray, matrix: np.ndarray, intrinsics: Intrinsics, from_px: np.ndarray) -> np.ndarray:
    """(2, n) pixels that (3, n) points go; 0 for those that end behind the camera. As drawn: no lens is in it yet."""
    x, y, z = matrix[:3, :3] @ points + matrix[:3, 3:]
    before = z > 1e-6
    scale = np.float32(intrinsics.fx) / np.where(before, z, 1)
    step = np.stack([x * scale + np.float32(intrinsics.cx), y * scale + np.float32(intrinsics.cy)]) - from_px
    return np.where(before, step, 0)
