"""Labels: boxes, poses and keypoints of every image, computed from poses and masks.

2-D boxes come from the masks, so they enclose the visible part. 3-D boxes and keypoints come from poses, so they exist
behind an occluder too; `keypoints_visible` says which are visible.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.observe.clip import Clip
from twinloop.observe.projection import inverse, project
from twinloop.observe.sampling import nearest

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
PER_THING = 1 + len(CORNERS)
SURFACE_M = 0.004
"""A point counts as visible if it is at most this far behind the surface in its pixel."""


def keypoint_names(things: Sequence[str]) -> tuple[str, ...]:
    """The tool, then the centre and the corners of each thing."""
    corners = [(thing, *(f"{thing}.corner{number}" for number in range(len(CORNERS)))) for thing in things]
    return ("tool", *(name for names in corners for name in names))


@dataclass(frozen=True)
class PoseLabels:
    """Poses in the camera's frame.

    Attributes:
        things_to_camera: (f, things, 4, 4).
        tool_to_camera: (f, 4, 4).
        half_extents_m: (things, 3) of the box around each thing.
    """

    things_to_camera: np.ndarray
    tool_to_camera: np.ndarray
    half_extents_m: np.ndarray

    @property
    def corners_in_camera(self) -> np.ndarray:
        """(f, things, 8, 3) metres."""
        pose = self.things_to_camera
        corners = CORNERS * self.half_extents_m[:, None, :]
        return corners @ pose[..., :3, :3].swapaxes(-1, -2) + pose[..., None, :3, 3]

    @property
    def keypoints_in_camera(self) -> np.ndarray:
        """(f, keypoints, 3) metres, in the order of `keypoint_names`."""
        centres = self.things_to_camera[:, :, None, :3, 3]
        points = np.concatenate([centres, self.corners_in_camera], axis=2)
        frames, things = points.shape[:2]
        # The sizes are written out, because a clip may have no frames.
        points = points.reshape(frames, things * PER_THING, 3)
        return np.concatenate([self.tool_to_camera[:, None, :3, 3], points], axis=1)


@dataclass(frozen=True)
class Keypoints:
    """Keypoints in the image.

    Attributes:
        px: (f, keypoints, 2) u, v; NaN behind the camera.
        visible: (f, keypoints) inside the image and not hidden.
    """

    px: np.ndarray
    visible: np.ndarray


@dataclass(frozen=True)
class Labels:
    """All labels of a clip. `boxes_px` is the (f, things, 4) result of the function `boxes_px`."""

    boxes_px: np.ndarray
    poses: PoseLabels
    keypoints: Keypoints


def label(clip: Clip) -> Labels:
    """Labels of a clip with masks, as rendered (its depth must be the true one)."""
    return Labels(boxes_px(clip), poses(clip), keypoints(clip))


def poses(clip: Clip) -> PoseLabels:
    world_to_camera = inverse(clip.camera_to_world)
    return PoseLabels(
        world_to_camera[:, None] @ clip.things_to_world, world_to_camera @ clip.tool_to_world, clip.half_extents_m
    )


def keypoints(clip: Clip, drawn: Clip | None = None) -> Keypoints:
    """Keypoints of a clip with masks. Its depth must be the true one, or `drawn` the clip before lens and sensor."""
    points = poses(clip).keypoints_in_camera
    pixels = project(points, clip.intrinsics)
    true = drawn or clip
    # A point beyond the rendered edge is not in the image, even if barrel distortion moves it inside.
    visible = _unhidden(true, points, project(points, true.intrinsics)) & _inside(clip, pixels)
    # The centre of a body is behind its own surface, so it is visible if its pixel shows the body.
    for number, body in enumerate(clip.things.tracked):
        centre = 1 + number * PER_THING
        u, v = np.nan_to_num(pixels[:, centre].T)[..., None, None]
        there = clip.things.instances[nearest(clip.geoms, u, v)[:, 0, 0]]
        visible[:, centre] = _inside(clip, pixels)[:, centre] & (there == body)
    return Keypoints(pixels, visible)


def boxes_px(clip: Clip) -> np.ndarray:
    """(f, things, 4) left, top, right, bottom around the visible part of `clip.things.boxed`; NaN if hidden.

    The values are edges: the box of a single pixel has a width of 1.
    """
    things = clip.things.thing_of[clip.things.instances][clip.geoms]
    boxes_of_things = [boxes(np.equal(things, number)) for number in range(len(clip.things.boxed))]
    return np.stack(boxes_of_things, axis=1) if boxes_of_things else np.zeros((len(things), 0, 4))


def boxes(masks: np.ndarray) -> np.ndarray:
    """(f, 4) left, top, right, bottom of (f, h, w) masks; NaN for an empty one."""
    columns, rows = np.asarray(masks.any(axis=1)), np.asarray(masks.any(axis=2))
    left, top = columns.argmax(axis=1), rows.argmax(axis=1)
    right = columns.shape[1] - columns[:, ::-1].argmax(axis=1)
    bottom = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    return np.where(columns.any(axis=1, keepdims=True), np.column_stack([left, top, right, bottom]), np.nan)


def _inside(clip: Clip, pixels: np.ndarray) -> np.ndarray:
    """(f, n) whether (f, n, 2) pixels are in the image; NaN is not."""
    inside = (pixels >= 0) & (pixels < (clip.camera.width, clip.camera.height))
    return inside[..., 0] & inside[..., 1]


def _unhidden(clip: Clip, points: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """(f, n) whether (f, n, 3) points, at these pixels, are in the image and not occluded."""
    u, v = np.nan_to_num(pixels[:, None, :, 0]), np.nan_to_num(pixels[:, None, :, 1])
    seen_m = nearest(clip.depth_m, u, v)[:, 0]
    return _inside(clip, pixels) & (points[..., 2] <= seen_m + SURFACE_M)
