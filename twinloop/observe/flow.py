"""How fast every pixel moves, from the poses of all bodies and of the camera: exact, since nothing is guessed.

A point seen at depth z in a pixel belongs to a geom; where that geom and the camera are one period later says where
the point will be seen then.
"""

import numpy as np

from twinloop.observe.camera import Intrinsics
from twinloop.observe.projection import inverse, pixel_centres, project, rays


def pixel_velocity(
    depth_m: np.ndarray,
    geom_ids: np.ndarray,
    geoms_to_world: tuple[np.ndarray, np.ndarray],
    camera_to_world: tuple[np.ndarray, np.ndarray],
    intrinsics: Intrinsics,
    period_s: float,
) -> np.ndarray:
    """(f, h, w, 2) pixels a second. Each pair is (now, one period later): (f, geoms, 4, 4) and (f, 4, 4)."""
    now, later = geoms_to_world
    still = np.broadcast_to(np.eye(4), (len(now), 1, 4, 4))
    # The last row is for pixels of no geom (-1): they are at rest in the world.
    moved = np.concatenate([later @ inverse(now), still], axis=1)
    carried = inverse(camera_to_world[1])[:, None] @ moved @ camera_to_world[0][:, None]
    height, width = depth_m.shape[1:]
    centres = pixel_centres(height, width).reshape(-1, 2)
    looked_at = rays(intrinsics, height, width).reshape(-1, 3)
    velocity = np.zeros((*depth_m.shape, 2), np.float32)
    for frame, (depth, ids) in enumerate(zip(depth_m, geom_ids, strict=True)):
        out, depth, ids = velocity[frame].reshape(-1, 2), depth.reshape(-1), ids.reshape(-1)
        # Body by body: one matrix for all pixels of a geom, and none for those that stand still.
        for geom in np.flatnonzero(np.bincount(ids + 1)) - 1:
            matrix = carried[frame, geom]
            if np.abs(matrix - np.eye(4)).max() < 1e-9:
                continue
            pixels = np.flatnonzero(ids == geom)
            there = (looked_at[pixels] * depth[pixels, None]) @ matrix[:3, :3].T + matrix[:3, 3]
            step = project(there, intrinsics) - centres[pixels]
            out[pixels] = np.nan_to_num(step, nan=0.0) / period_s
    return velocity
