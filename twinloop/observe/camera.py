"""CameraConfig: pose, field of view and rate of a camera, and its intrinsics.

Pixels are counted from the top left corner of the image, u to the right and v down; the centre of the first pixel is at
(0.5, 0.5). Camera frames are those of computer vision: x right, y down, z forward.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from twinloop.config.fields import flag, integer, number, numbers, of_kind, texts, word
from twinloop.config.kinds import Number
from twinloop.observe.background_config import BackgroundConfig, BackgroundKind
from twinloop.observe.quality import QUALITY_NAMES, QualityName

Mount = Literal["fixed", "wrist"]
MOUNTS: tuple[Mount, ...] = get_args(Mount)

Label = Literal["instances", "classes", "boxes", "boxes_3d", "poses", "keypoints"]
LABELS: tuple[Label, ...] = get_args(Label)
MASKED: frozenset[Label] = frozenset(("instances", "classes", "boxes", "keypoints"))
"""The labels that are computed from masks."""

MOST_CAMERAS = 16
MOST_PIXELS = 2048
FOV_DEG = (5.0, 150.0)


FARTHEST_M = 3.0  # the room's walls stand 4 m away
SLOWEST_HZ = 0.1


def _point(*, help: str) -> tuple[float, float, float]:
    return numbers(low=-FARTHEST_M, high=FARTHEST_M, count=3, unit="m", help=help)


@dataclass(frozen=True)
class CameraConfig:
    """One camera. Points are in the world for a fixed camera, in the tool frame for one on the wrist."""

    mount: Mount = word(absent="fixed", words=MOUNTS, help="stands in the world, or moves with the hand")
    position_m: tuple[float, float, float] = _point(help="where it is; in the tool frame for a wrist camera")
    look_at_m: tuple[float, float, float] = _point(help="a point in the middle of the image")
    fov_deg: float = number(45.0, low=FOV_DEG[0], high=FOV_DEG[1], unit="°", help="vertical field of view")
    width: int = integer(128, low=2, high=MOST_PIXELS, unit="px", help="width of the image; even")
    height: int = integer(128, low=2, high=MOST_PIXELS, unit="px", help="height of the image; even")
    rate_hz: float = number(
        None, low=SLOWEST_HZ, high=200, unit="Hz", help="images per second, at most control_hz", otherwise="control_hz"
    )
    depth: bool = flag(False, help="record depth")
    rgb: bool = flag(True, help="record colour")
    labels: tuple[Label, ...] = texts((), words=LABELS, empty=True, help="ground truth to store with each image")
    quality: QualityName = word("default", words=QUALITY_NAMES, help="quality of rendering, against its speed")
    roll_deg: float = of_kind(
        Number(
            low=-180,
            high=180,
            unit="°",
            omit_default=True,
            help="rotation about the direction of view; the image turns left",
        ),
        0.0,
    )
    background: BackgroundConfig | None = of_kind(
        BackgroundKind(help="pictures of a real place behind the robot: a path, or `pictures` and `replaces`"), None
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        for key in ("width", "height"):
            value = getattr(self, key)
            if value % 2:
                yield key, f"is {value}; video codecs want an even number, e.g. {value + 1}"
        if self.position_m == self.look_at_m:
            yield (
                "look_at_m",
                f"is the camera's own position {list(self.position_m)}; a point in front of it was expected",
            )
        if not (self.rgb or self.depth or self.labels):
            yield "rgb", "is false, and neither depth nor labels are asked for: this camera stores nothing"

    @property
    def needs_masks(self) -> bool:
        return not MASKED.isdisjoint(self.labels) or self.background is not None

    @property
    def axes(self) -> np.ndarray:
        """(3, 3) columns: right, down and forward in the mount's frame.

        Up in the image is the world's z for a fixed camera, and the tool's x for one on the wrist. The tool's z points
        out of the hand.
        """
        forward = np.subtract(self.look_at_m, self.position_m)
        forward = forward / np.linalg.norm(forward)
        ups = ([0, 0, 1], [1, 0, 0]) if self.mount == "fixed" else ([1, 0, 0], [0, 0, 1])
        up = next(up for up in ups if np.linalg.norm(np.cross(forward, up)) > 1e-3)
        right = np.cross(forward, up)
        right = right / np.linalg.norm(right)
        down = np.cross(forward, right)
        cos, sin = np.cos(np.deg2rad(self.roll_deg)), np.sin(np.deg2rad(self.roll_deg))
        return np.column_stack([cos * right + sin * down, cos * down - sin * right, forward])


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole intrinsics in pixels and radial distortion. A point at radius r from the centre, as a share of the half
    diagonal, appears at r (1 + distortion r²)."""

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
    """Default cameras of a config without any: one in front of the table, one on the wrist."""
    return {
        "front": CameraConfig("fixed", (1.2, -0.3, 0.65), (0.42, -0.03, 0.12), 46.0, width, height, rate_hz),
        "wrist": CameraConfig("wrist", (0.085, 0.0, -0.05), (0.0, 0.0, 0.035), 75.0, width, height, rate_hz),
    }
