"""Finds the dominant plane of a scan: a table, a wall or a floor."""

from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.pcd import Scan
from twinloop.errors import DatasetError

TRIES = 300
SCATTER = 7.0
NEAR_SHARE = 0.008  # tolerance in metres per squared metre of distance; three depth steps of the first Kinect


@dataclass(frozen=True)
class Plane:
    """A plane in the camera's frame.

    Attributes:
        normal: unit normal.
        offset_m: distance from the camera.
        on_it: (h, w) pixels that lie on the plane.
        depth_m: (h, w) depth of the plane at every pixel.
    """

    normal: np.ndarray
    offset_m: float
    on_it: np.ndarray
    depth_m: np.ndarray


def table_plane(scan: Scan, *, rng: np.random.Generator) -> Plane:
    """Find the plane with RANSAC on three points, then least squares of 1/z over the inliers."""
    points = scan.points_m
    seen = np.isfinite(points).all(axis=-1) & (points[..., 2] > 0)
    cloud = points[seen]
    if len(cloud) < 1000:
        raise DatasetError(f"{scan.name}: {len(cloud):,} pixels have depth; a scan of a table was expected")
    sample = cloud[rng.integers(len(cloud), size=min(len(cloud), 4000))]
    best, most = np.zeros(3), -1
    for _ in range(TRIES):
        # A plane that does not pass through the camera satisfies 1/z = a x/z + b y/z + c.
        triple = sample[rng.integers(len(sample), size=3)]
        try:
            plane = np.linalg.solve(_rays(triple), 1 / triple[:, 2])
        except np.linalg.LinAlgError:
            continue
        count = int(_near(sample, plane, NEAR_SHARE).sum())
        if count > most:
            best, most = plane, count
    share = NEAR_SHARE
    for _ in range(6):
        near = cloud[_near(cloud, best, share)]
        best = np.linalg.lstsq(_rays(near), 1 / near[:, 2], rcond=None)[0]
        # The tolerance grows with the scatter of the inliers, so that a noisy camera's own noise is not cut off.
        share = max(NEAR_SHARE, SCATTER * 1.4826 * float(np.median(np.abs(_off(near, best)))))
    on_it = np.zeros(seen.shape, bool)
    on_it[seen] = _near(cloud, best, share)
    height, width = seen.shape
    # x/z and y/z are linear in column and row, which gives the ray of every pixel, including those without depth.
    across = _line(np.broadcast_to(np.arange(width), seen.shape)[seen], cloud[:, 0] / cloud[:, 2])
    down = _line(np.broadcast_to(np.arange(height)[:, None], seen.shape)[seen], cloud[:, 1] / cloud[:, 2])
    x = across[0] + across[1] * np.arange(width)
    y = down[0] + down[1] * np.arange(height)
    disparity = best[0] * x[None, :] + best[1] * y[:, None] + best[2]
    length = float(np.linalg.norm(best))
    return Plane(best / length, 1 / length, on_it, 1 / np.maximum(disparity, 1e-2))


def _rays(points: np.ndarray) -> np.ndarray:
    return points / points[:, 2:]


def _near(points: np.ndarray, plane: np.ndarray, share: float) -> np.ndarray:
    return np.abs(_off(points, plane)) < share


def _off(points: np.ndarray, plane: np.ndarray) -> np.ndarray:
    """Distance from the plane along the optical axis, divided by the squared depth."""
    return (points[:, 2] - 1 / np.maximum(_rays(points) @ plane, 1e-6)) / points[:, 2] ** 2


def _line(places: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    middle = places.mean()
    slope = float((places - middle) @ values / ((places - middle) @ (places - middle)))
    return float(values.mean() - slope * middle), slope
