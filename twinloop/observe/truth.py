"""Truth: labels that are stored with a camera's images, one value per image.

Labels belong to the image after lens distortion. Motion blur and rolling shutter do not affect them: a label describes
the middle of the exposure. No label is NaN, because training code normalises columns by their statistics.
"""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from twinloop.observe.camera import CameraConfig, Label
from twinloop.observe.clip import CLASSES, Clip
from twinloop.observe.label_ids import LabelIds
from twinloop.observe.labels import boxes_px, keypoint_names, keypoints, poses
from twinloop.observe.recording import PREFIX, Feature
from twinloop.twin.entity import POSE

SEEN, HIDDEN, BEHIND = 2, 1, 0
"""State of a keypoint: visible in the image; hidden or outside the image; behind the camera, without a pixel."""


def label_name(camera: str, label: Label) -> str:
    """Masks are named as images are, because LeRobot takes every video as an input and recognises it by its name."""
    return f"{PREFIX}{camera}_{label}" if label in ("instances", "classes") else f"label.{camera}.{label}"


def label_features(name: str, camera: CameraConfig, things: LabelIds) -> tuple[Feature, ...]:
    size, tracked = (camera.height, camera.width, 1), things.tracked_names

    def vector(label: Label, of: tuple[str, ...], parts: tuple[str, ...], unit: str) -> Feature:
        elements = tuple(f"{thing}.{part}" for thing in of for part in parts)
        return Feature(label_name(name, label), "float32", (len(elements),), elements, unit)

    every: dict[Label, Feature] = {
        "instances": Feature(label_name(name, "instances"), "mask", size, things.names, "body"),
        "classes": Feature(label_name(name, "classes"), "mask", size, CLASSES, "class"),
        "boxes": vector("boxes", things.boxed, ("left", "top", "right", "bottom"), "px"),
        "boxes_3d": vector("boxes_3d", tracked, (*POSE, "half_x", "half_y", "half_z"), "m; quaternion"),
        "poses": vector("poses", (*tracked, "tool"), POSE, "m; quaternion"),
        "keypoints": vector("keypoints", keypoint_names(tracked), ("u", "v", "seen"), "px"),
    }
    return tuple(every[label] for label in camera.labels)


def labels_of(clip: Clip, seen: Clip) -> dict[Label, np.ndarray]:
    """The labels that the camera's config requests.

    Args:
        clip: as rendered.
        seen: the clip after lens and sensor.

    Returns:
        Masks (f, h, w) uint8; the others (f, n) float32.
    """
    makers: Mapping[Label, Callable[[], np.ndarray]] = {
        "instances": lambda: seen.instance_ids,
        "classes": lambda: seen.class_ids,
        "boxes": lambda: np.nan_to_num(boxes_px(seen), nan=0.0),
        "boxes_3d": lambda: _boxes_3d(seen),
        "poses": lambda: _poses(seen),
        "keypoints": lambda: _keypoints(seen, clip),
    }
    made: dict[Label, np.ndarray] = {}
    for label in clip.camera.labels:
        values = makers[label]()
        made[label] = values if values.dtype == np.uint8 else _flat(values).astype(np.float32)
    return made


def _poses(clip: Clip) -> np.ndarray:
    labels = poses(clip)
    every = np.concatenate([labels.things_to_camera, labels.tool_to_camera[:, None]], axis=1)
    return _position_and_turn(every.reshape(-1, 4, 4)).reshape(len(every), 7 * every.shape[1])


def _boxes_3d(clip: Clip) -> np.ndarray:
    labels = poses(clip)
    frames, things = labels.things_to_camera.shape[:2]
    pose = _position_and_turn(labels.things_to_camera.reshape(-1, 4, 4)).reshape(frames, things, 7)
    size = np.broadcast_to(labels.half_extents_m, (frames, things, 3))
    return _flat(np.concatenate([pose, size], axis=2))


def _flat(values: np.ndarray) -> np.ndarray:
    """(f, n) of (f, ...) values; f may be 0."""
    return values.reshape(len(values), prod(values.shape[1:]))


def _keypoints(seen: Clip, drawn: Clip) -> np.ndarray:
    points = keypoints(seen, drawn)
    behind = np.isnan(points.px[..., 0])
    sight = np.where(behind, BEHIND, np.where(points.visible, SEEN, HIDDEN))
    return np.concatenate([np.nan_to_num(points.px, nan=0.0), sight[..., None]], axis=-1)


def _position_and_turn(poses: np.ndarray) -> np.ndarray:
    """(f, 7) position and quaternion of (f, 4, 4) poses."""
    return np.concatenate([poses[:, :3, 3], quaternions(poses[:, :3, :3])], axis=1)


def quaternions(turns: np.ndarray) -> np.ndarray:
    """(f, 4) w, x, y, z with w ≥ 0 of (f, 3, 3) rotations.

    4 q qᵀ is linear in the rotation. Its longest row is q up to scale, so there is no division by a small number.
    """
    m = np.moveaxis(turns, 0, -1)
    (a, b, c), (d, e, f), (g, h, i) = m
    products = np.array([
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ])  # fmt: skip
    longest = products.diagonal().argmax(axis=1)
    rows = products[longest, :, np.arange(len(longest))]
    unit = rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return np.where(unit[:, :1] < 0, -unit, unit)
