"""FilmView: a pinhole camera that is given by where it looks from, and the pixels of points in it."""

from dataclasses import dataclass

import numpy as np

NEAREST_M = 0.02


@dataclass(frozen=True)
class FilmView:
    """A camera around a point of interest.

    Attributes:
        position_m: place of the camera.
        axes: (3, 3) columns: right, down and forward in the world.
        fov_deg: vertical field of view.
        width, height: pixels.
    """

    position_m: np.ndarray
    axes: np.ndarray
    fov_deg: float
    width: int
    height: int

    @property
    def focal_px(self) -> float:
        return self.height / 2 / np.tan(np.deg2rad(self.fov_deg) / 2)

    @property
    def roll_deg(self) -> float:
        """Rotation of the image about its centre: the angle from the level right axis to the camera's, clockwise."""
        level = _level_axes(self.axes[:, 2])
        return float(np.rad2deg(np.arctan2(self.axes[:, 0] @ level[:, 1], self.axes[:, 0] @ level[:, 0])))

    def resized(self, width: int, height: int) -> "FilmView":
        return FilmView(self.position_m, self.axes, self.fov_deg, width, height)

    def pixels(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((..., 2) pixels u right and v down, (...) distance along the view) of (..., 3) points."""
        in_camera = (points - self.position_m.astype(np.float32)) @ self.axes.astype(np.float32)
        depth = in_camera[..., 2]
        scale = np.float32(self.focal_px) / np.maximum(depth, NEAREST_M)
        centre = np.array([self.width / 2, self.height / 2], np.float32)
        return in_camera[..., :2] * scale[..., None] + centre, depth


def view_around(
    target_m: np.ndarray, *, azimuth_rad: float, elevation_rad: float, distance_m: float, aside: tuple[float, float],
    roll_rad: float, fov_deg: float, width: int, height: int,
) -> FilmView:  # fmt: skip
    """A view from a direction.

    Args:
        target_m: the point that the direction and distance are measured from.
        aside: where the target appears, in half heights right of and below the centre of the image.
        roll_rad: rotation about the optical axis.
    """
    flat = np.cos(elevation_rad)
    back = np.array([flat * np.cos(azimuth_rad), flat * np.sin(azimuth_rad), np.sin(elevation_rad)])
    axes = _level_axes(-back)
    cos, sin = np.cos(roll_rad), np.sin(roll_rad)
    axes = axes @ np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    # Turning the camera away from the target moves the target in the image and keeps the camera's place.
    half = np.tan(np.deg2rad(fov_deg) / 2)
    yaw, pitch = np.arctan(aside[0] * half), np.arctan(aside[1] * half)
    turn_yaw = np.array([[np.cos(yaw), 0, -np.sin(yaw)], [0, 1, 0], [np.sin(yaw), 0, np.cos(yaw)]])
    turn_pitch = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]])
    return FilmView(target_m + distance_m * back, axes @ turn_yaw @ turn_pitch, fov_deg, width, height)


def _level_axes(forward: np.ndarray) -> np.ndarray:
    up = np.array([0.0, 0, 1]) if abs(forward[2]) < 0.9999 else np.array([1.0, 0, 0])
    right = np.cross(forward, up)
    right = right / np.linalg.norm(right)
    return np.column_stack([right, np.cross(forward, right), forward])
