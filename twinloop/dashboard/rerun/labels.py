"""Labels of a camera: boxes and keypoints in its image, 3-D boxes and poses in its frame."""

from collections.abc import Callable

import numpy as np
import rerun as rr

from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.space import AXIS_M, colour_of, place
from twinloop.dashboard.rerun.stored_episode import POSE, StoredEpisode
from twinloop.dashboard.rerun.views import CameraFeature, camera_features_of

SEEN, HIDDEN = (255, 230, 60), (150, 60, 150)
POINT_PX, LINE_PX = 2.0, 0.75

Parts = dict[str, dict[str, np.ndarray]]
"""Thing -> part of it (`left`, `u`, `x`) -> (f,)."""


def log_labels(log: RerunLog, episode: StoredEpisode) -> None:
    for camera_feature in camera_features_of(episode.features):
        if camera_feature.kind in DRAWN and camera_feature.feature.name in episode.frames:
            parts: Parts = {}
            for name, values in zip(
                camera_feature.feature.names, episode.frames[camera_feature.feature.name].T, strict=True
            ):
                thing, _, part = name.rpartition(".")
                parts.setdefault(thing, {})[part] = values
            DRAWN[camera_feature.kind](log, camera_feature, parts)


def _boxes(log: RerunLog, camera_feature: CameraFeature, parts: Parts) -> None:
    """Boxes of the visible things; their number differs from frame to frame."""
    left, top, right, bottom = (
        np.stack([part[edge] for part in parts.values()], axis=1) for edge in ("left", "top", "right", "bottom")
    )
    seen = right > left
    names = np.broadcast_to(np.array(list(parts)), seen.shape)[seen].tolist()
    centres = np.stack([(left + right)[seen], (top + bottom)[seen]], axis=1) / 2
    halves = np.stack([(right - left)[seen], (bottom - top)[seen]], axis=1) / 2
    columns = rr.Boxes2D.columns(
        centers=centres, half_sizes=halves, labels=names, colors=[colour_of(name) for name in names]
    )
    log.columns(camera_feature.path, columns.partition(seen.sum(axis=1)))
    log.static(camera_feature.path, rr.Boxes2D.from_fields(radii=LINE_PX, show_labels=False))


def _keypoints(log: RerunLog, camera_feature: CameraFeature, parts: Parts) -> None:
    u, v, seen = (np.stack([part[part_name] for part in parts.values()], axis=1) for part_name in ("u", "v", "seen"))
    in_front = seen > 0
    columns = rr.Points2D.columns(
        positions=np.stack([u[in_front], v[in_front]], axis=1),
        labels=np.broadcast_to(np.array(list(parts)), in_front.shape)[in_front].tolist(),
        colors=np.where(seen[in_front][:, None] > 1, SEEN, HIDDEN).astype(np.uint8),
    )
    log.columns(camera_feature.path, columns.partition(in_front.sum(axis=1)))
    log.static(camera_feature.path, rr.Points2D.from_fields(radii=POINT_PX, show_labels=False))


def _boxes_3d(log: RerunLog, camera_feature: CameraFeature, parts: Parts) -> None:
    for thing, part in parts.items():
        path, halves = f"{camera_feature.path}/{thing}", np.stack([part[f"half_{axis}"] for axis in "xyz"], axis=1)
        _place(log, path, part)
        log.static(path, rr.Boxes3D(half_sizes=halves[:1], colors=[colour_of(thing)]))


def _poses(log: RerunLog, camera_feature: CameraFeature, parts: Parts) -> None:
    for thing, part in parts.items():
        _place(log, f"{camera_feature.path}/{thing}", part)
        log.static(f"{camera_feature.path}/{thing}", rr.TransformAxes3D(AXIS_M / 2))


def _place(log: RerunLog, path: str, part: dict[str, np.ndarray]) -> None:
    poses = np.stack([part[axis] for axis in POSE], axis=1)
    place(log, path, poses[:, :3], poses[:, 3:])


DRAWN: dict[str, Callable[[RerunLog, CameraFeature, Parts], None]] = {
    "boxes": _boxes,
    "keypoints": _keypoints,
    "boxes_3d": _boxes_3d,
    "poses": _poses,
}
