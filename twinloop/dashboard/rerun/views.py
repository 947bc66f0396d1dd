"""The cameras of an episode: features, poses and pinhole models."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import rerun as rr

from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.space import WORLD, place_matrices
from twinloop.dashboard.rerun.stored_episode import LABEL, StoredEpisode
from twinloop.observe.recording import PREFIX, Feature

IMAGE_PLANE_M = 0.12


@dataclass(frozen=True)
class CameraFeature:
    """A feature of a camera. kind: `rgb`, `depth`, or the kind of label: `instances`, `boxes`, ..."""

    camera: str
    kind: str
    feature: Feature

    @property
    def path(self) -> str:
        """2-D features are children of the pinhole; 3-D labels are children of the camera frame."""
        below = f"lens/{self.kind}" if self.kind not in IN_SPACE else self.kind
        return f"{camera_path(self.camera)}/{below}"


IN_SPACE = ("boxes_3d", "poses")


def camera_features_of(features: Iterable[Feature]) -> tuple[CameraFeature, ...]:
    """All features of cameras, recognised by name and dtype."""
    camera_features = []
    for feature in features:
        if feature.name.startswith(LABEL):
            camera, _, kind = feature.name.removeprefix(LABEL).rpartition(".")
            camera_features.append(CameraFeature(camera, kind, feature))
        elif feature.is_picture:
            name, kind = feature.name.removeprefix(PREFIX), "rgb"
            if feature.dtype != "video":
                # Depth and masks are named after their camera and their kind.
                name, _, kind = name.rpartition("_")
            camera_features.append(CameraFeature(name, kind, feature))
    return tuple(camera_features)


def camera_path(name: str) -> str:
    return f"{WORLD}/camera/{rr.escape_entity_path_part(name)}"


def log_views(log: RerunLog, episode: StoredEpisode) -> None:
    """Write the pose and pinhole model of each camera. Rerun does not model distortion, so images stay distorted."""
    camera_features = camera_features_of(episode.features)
    for name in dict.fromkeys(camera_feature.camera for camera_feature in camera_features):
        lens, to_mount = (episode.columns.get(f"camera/{name}/{key}") for key in ("lens", "to_mount"))
        if lens is None or to_mount is None:
            continue
        sizes = [
            camera_feature.feature.shape[:2]
            for camera_feature in camera_features
            if camera_feature.camera == name and camera_feature.feature.is_picture
        ]
        fx, fy, cx, cy = lens[:4]
        height, width = sizes[0] if sizes else (2 * cy, 2 * cx)
        pinhole = rr.Pinhole(
            image_from_camera=[[fx, 0, cx], [0, fy, cy], [0, 0, 1]], resolution=[width, height],
            camera_xyz=rr.ViewCoordinates.RDF, image_plane_distance=IMAGE_PLANE_M,
        )  # fmt: skip
        log.static(f"{camera_path(name)}/lens", pinhole)
        poses = _to_world(episode, name, np.reshape(to_mount, (4, 4)))
        if poses is not None:
            place_matrices(log, camera_path(name), poses)


def _to_world(episode: StoredEpisode, camera: str, to_mount: np.ndarray) -> np.ndarray | None:
    """(f, 4, 4), or None if the pose of its mount is not known."""
    if episode.config is None or camera not in episode.config.cameras:
        return None
    if episode.config.cameras[camera].mount == "fixed":
        return np.tile(to_mount, (episode.length, 1, 1))
    return None if episode.poses is None else episode.poses.tool_to_world @ to_mount
