"""Labels: boxes, poses and keypoints of every picture, worked out from the truth and the masks.

Boxes in the image come from the masks, so they are of what is seen; boxes in space and keypoints come from poses, so
they are there behind an occluder too, and `keypoints_visible` says which are seen.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.projection import inverse, project
from twinloop.observe.sampling import nearest

BOXED = CLASSES[1:]
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
KEYPOINTS = ("tool", "object", *(f"object.corner{number}" for number in range(8)))
SURFACE_M = 0.004
"""How far behind what is seen in its pixel a point may lie and still be called seen."""


@dataclass(frozen=True)
class Labels:
    """Of f pictures; pixels as u, v.

    boxes_px: (f, classes, 4) left, top, right, bottom of each of BOXED; NaN for what is not seen. They are edges: a
        single pixel is one wide.
    object_to_camera, tool_to_camera: (f, 4, 4) poses.
    object_corners_in_camera: (f, 8, 3) metres: the box around the object.
    keypoints_px: (f, keypoints, 2), in the order of KEYPOINTS; NaN behind the camera.
    keypoints_visible: (f, keypoints) inside the picture and not hidden.
    """

    boxes_px: np.ndarray
    object_to_camera: np.ndarray
    tool_to_camera: np.ndarray
    object_corners_in_camera: np.ndarray
    keypoints_px: np.ndarray
    keypoints_visible: np.ndarray


def label(clip: Clip) -> Labels:
    """Labels of a clip filmed with masks, as drawn (its depth must be the true one)."""
    world_to_camera = inverse(clip.camera_to_world)
    object_to_camera, tool_to_camera = world_to_camera @ clip.object_to_world, world_to_camera @ clip.tool_to_world
    corners = CORNERS * clip.object_half_extents_m
    corners_in_camera = corners @ object_to_camera[:, :3, :3].swapaxes(1, 2) + object_to_camera[:, None, :3, 3]
    points = np.concatenate(
        [tool_to_camera[:, None, :3, 3], object_to_camera[:, None, :3, 3], corners_in_camera], axis=1
    )
    pixels = project(points, clip.intrinsics)
    classes = clip.class_ids
    return Labels(
        boxes_px=np.stack([boxes(np.equal(classes, CLASSES.index(name))) for name in BOXED], axis=1),
        object_to_camera=object_to_camera,
        tool_to_camera=tool_to_camera,
        object_corners_in_camera=corners_in_camera,
        keypoints_px=pixels,
        keypoints_visible=_visible(clip, classes, points, pixels),
    )


def boxes(masks: np.ndarray) -> np.ndarray:
    """(f, 4) left, top, right, bottom of (f, h, w) masks; NaN for an empty one."""
    columns, rows = np.asarray(masks.any(axis=1)), np.asarray(masks.any(axis=2))
    left, top = columns.argmax(axis=1), rows.argmax(axis=1)
    right = columns.shape[1] - columns[:, ::-1].argmax(axis=1)
    bottom = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    return np.where(columns.any(axis=1, keepdims=True), np.column_stack([left, top, right, bottom]), np.nan)


def _visible(clip: Clip, classes: np.ndarray, points: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    height, width = clip.depth_m.shape[1:]
    inside = (
        (pixels[..., 0] >= 0) & (pixels[..., 0] < width) & (pixels[..., 1] >= 0) & (pixels[..., 1] < height)
    )  # fmt: skip
    u, v = np.nan_to_num(pixels[:, None, :, 0]), np.nan_to_num(pixels[:, None, :, 1])
    seen_m, seen_class = nearest(clip.depth_m, u, v)[:, 0], nearest(classes, u, v)[:, 0]
    visible = inside & (points[..., 2] <= seen_m + SURFACE_M)
    # The centre of a body lies behind its own surface: it is seen where the body is.
    centre = KEYPOINTS.index("object")
    visible[:, centre] = inside[:, centre] & (seen_class[:, centre] == CLASSES.index("object"))
    return visible
