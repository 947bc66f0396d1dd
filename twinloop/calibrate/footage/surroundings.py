"""Table and light of filmed footage: how high the table stands, from where the light comes, and its colours."""

from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.footage.camera_fit import CameraFit
from twinloop.calibrate.footage.moving_mask import RobotMasks
from twinloop.calibrate.footage.robot_points import RobotPoints
from twinloop.signals.regions import distance_to

SMALL_PX = 80
LOWEST_SHARES = (0.001, 0.01)
"""The lowest point of the arm touches the table in some rows; fewer are errors of the log."""
AZIMUTHS_DEG, ELEVATIONS_DEG = np.arange(0, 360, 15), np.arange(25, 90, 10)
FEWEST_SHADOW = 0.1


@dataclass(frozen=True)
class FilmedSurroundings:
    """Attributes:
    table_m: height of the table in the frame of the robot's base, as a range.
    light_deg: azimuth and elevation of the strongest light; None if no shadow fits.
    shadow_fit: intersection over union of the shadows of film and twin.
    table_rgb: colour of the table, the most frequent colour of the median frames.
    """

    table_m: tuple[float, float]
    light_deg: tuple[float, float] | None
    shadow_fit: float
    table_rgb: tuple[int, int, int]


def table_height(
    points: RobotPoints, logged: np.ndarray, fit: CameraFit, *, most_rows: int = 4000
) -> tuple[float, float]:
    """Where the arm's lowest point rests, over all logged rows: it cannot be below the table."""
    rows = logged[np.isfinite(logged).all(axis=1)]
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), most_rows)).astype(int)]
    moving = points.moving
    lowest = np.array([points.at(row[None] + fit.zeros_rad)[0][moving, 2].min() for row in rows])
    low, high = np.quantile(lowest, LOWEST_SHARES)
    return float(low), float(high)


def light_direction(
    points: RobotPoints, fit: CameraFit, positions: np.ndarray, seen: RobotMasks, shadows: np.ndarray, table_m: float
) -> tuple[tuple[float, float] | None, float]:
    """((azimuth, elevation) of the light, fit of the shadows), by trying directions over the upper half sphere."""
    height, width = shadows.shape[1:]
    step = max(width // SMALL_PX, 1)
    view = fit.view.resized(width // step, height // step)
    filmed = shadows[:, ::step, ::step][:, : view.height, : view.width]
    moving = seen.moving[:, ::step, ::step][:, : view.height, : view.width]
    world = points.at(positions + fit.zeros_rad)[:, points.moving]
    best, score = None, 0.0
    # Only near the robot: elsewhere a film darkens for other reasons.
    near = np.stack([distance_to(mask) < 0.4 * view.width if mask.any() else np.zeros_like(mask) for mask in moving])
    for azimuth in np.deg2rad(AZIMUTHS_DEG):
        for elevation in np.deg2rad(ELEVATIONS_DEG):
            away = np.array([np.cos(azimuth), np.sin(azimuth)]) / np.tan(elevation)
            fallen = world.copy()
            fallen[..., :2] -= (world[..., 2:] - table_m) * away.astype(np.float32)
            fallen[..., 2] = table_m
            pixels, depth = view.pixels(fallen)
            u, v = np.floor(pixels[..., 0]).astype(int), np.floor(pixels[..., 1]).astype(int)
            inside = (depth > 0.02) & (u >= 0) & (u < view.width) & (v >= 0) & (v < view.height)
            frame = np.broadcast_to(np.arange(len(world))[:, None], u.shape)
            cast = np.zeros(filmed.shape, bool)
            cast[frame[inside], v[inside], u[inside]] = True
            cast &= ~moving
            both, either = (cast & filmed & near).sum(), ((cast | filmed) & near).sum()
            if either and both / either > score:
                best, score = (float(np.rad2deg(azimuth)), float(np.rad2deg(elevation))), float(both / either)
    return (best if score >= FEWEST_SHADOW else None), score


def table_colour(medians: np.ndarray) -> tuple[int, int, int]:
    """The centre of the most frequent colours, with 16 levels a channel."""
    coarse = medians.reshape(-1, 3).astype(int) // 16
    codes = (coarse[:, 0] * 16 + coarse[:, 1]) * 16 + coarse[:, 2]
    common = np.bincount(codes).argmax()
    red, green, blue = medians.reshape(-1, 3)[codes == common].mean(axis=0).round().astype(int)
    return int(red), int(green), int(blue)
