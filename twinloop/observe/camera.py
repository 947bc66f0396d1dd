"""CameraConfig: where a camera is, what it sees, how often; and the intrinsics that follow.

Pixels are counted from the top left corner of the image, u to the right and v down; the centre of the first pixel is at
(0.5, 0.5). Camera frames are those of computer vision: x right, y down, z forward.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Mount = Literal["fixed", "wrist"]
MOUNTS: tuple[Mount, ...] = get_args(Mount)

Label = Literal["instances", "classes", "boxes", "boxes_3d", "poses", "keypoints"]
LABELS: tuple[Label, ...] = get_args(Label)
MASKED: frozenset[Label] = frozenset(("instances", "classes", "boxes", "keypoints"))
"""The labels that take masks to know."""

MOST_CAMERAS = 16
MOST_PIXELS = 2048
FOV_DEG = (5.0, 150.0)


@dataclass(frozen=True)
class CameraConfig:
    """position_m, look_at_m: in the world for a fixed camera, in the tool frame for one on the wrist.
    fov_deg: vertical field of view. width, height: pixels. rate_hz: pictures a second. rgb, depth: whether it delivers
    them. labels: what is stored of the truth about each picture, in the order of LABELS."""

    mount: Mount
    position_m: tuple[float, float, float]
    look_at_m: tuple[float, float, float]
    fov_deg: float
    width: int
    height: int
    rate_hz: float
    depth: bool = False
    rgb: bool = True
    labels: tuple[Label, ...] = ()

    @property
    def needs_masks(self) -> bool:
        return not MASKED.isdisjoint(self.labels)

    @property
    def axes(self) -> np.ndarray:
        """(3, 3) columns: right, down and forward in the mount's frame.

        Up in the image is the world's z for a fixed camera, the tool's x for one on the wrist, where z points out.
        """
        forward = np.subtract(self.look_at_m, self.position_m)
        forward = forward / np.linalg.norm(forward)
        ups = ([0, 0, 1], [1, 0, 0]) if self.mount == "fixed" else ([1, 0, 0], [0, 0, 1])
        up = next(up for up in ups if np.linalg.norm(np.cross(forward, up)) > 1e-3)
        right = np.cross(forward, up)
        right = right / np.linalg.norm(right)
        return np.column_stack([right, np.cross(forward, right), forward])


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole, in pixels, and the lens before it: a point at radius r from the centre, as a share of the half
    diagonal, is seen at r (1 + distortion r²)."""

    fx: float
    fy: float
    cx: float
    cy: float
    distortion: float = 0.0

    @property
    def half_diagonal_px(self) -> float:
        return float(np.hypot(self.cx, self.cy))


def intrinsics_of(camera: CameraConfig, fov_deg: float, distortion: float) -> Intrinsics:
    focal = camera.height / 2 / np.tan(np.deg2rad(fov_deg) / 2)
    return Intrinsics(focal, focal, camera.width / 2, camera.height / 2, distortion)


def default_cameras(*, rate_hz: int, width: int = 128, height: int = 128) -> dict[str, CameraConfig]:
    """What a config without cameras is looked at with: one in front of the table, one on the wrist."""
    return {
        "front": CameraConfig("fixed", (1.2, -0.3, 0.65), (0.42, -0.03, 0.12), 46.0, width, height, rate_hz),
        "wrist": CameraConfig("wrist", (0.085, 0.0, -0.05), (0.0, 0.0, 0.035), 75.0, width, height, rate_hz),
    }
