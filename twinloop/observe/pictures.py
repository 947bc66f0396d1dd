"""Images and labels that cameras add to a recording, and the true poses and lenses of the cameras.

The modules that render are imported on first use, so that a run without cameras starts sooner.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from twinloop.observe.appearance import camera_in_mount, fov_deg
from twinloop.observe.camera import CameraConfig, intrinsics_of
from twinloop.observe.image_settings import image_settings
from twinloop.observe.label_ids import things_in
from twinloop.observe.moments import shown_in
from twinloop.observe.recording import PREFIX, Feature, Frames, HeldFrames, Pictures
from twinloop.randomize.draw import Draws
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

if TYPE_CHECKING:
    from twinloop.observe.renderer import Renderer

DEPTH = "_depth"


def renderer_of(twin: Twin, cameras: Mapping[str, CameraConfig]) -> "Renderer":
    from twinloop.observe.renderer import Renderer

    return Renderer(twin, cameras)


def picture_features(cameras: Mapping[str, CameraConfig], twin: Twin) -> tuple[Feature, ...]:
    """Images of the cameras, and their labels."""
    features = list(sensor_features(cameras))
    if any(camera.labels for camera in cameras.values()):
        from twinloop.observe.truth import label_features

        things = things_in(twin, cameras)
        for name, camera in cameras.items():
            features += label_features(name, camera, things)
    return tuple(features)


def sensor_features(cameras: Mapping[str, CameraConfig]) -> tuple[Feature, ...]:
    """RGB and depth of the cameras: what real cameras deliver too."""
    features = []
    for name, camera in cameras.items():
        size = (camera.height, camera.width)
        axes = ("height", "width", "channels")
        if camera.rgb:
            features.append(Feature(PREFIX + name, "video", (*size, 3), axes, "RGB"))
        if camera.depth:
            features.append(Feature(PREFIX + name + DEPTH, "depth", (*size, 1), axes, "m"))
    return tuple(features)


def pictures_of(episodes: Episodes, renderer: "Renderer", *, seed: int) -> Pictures:
    from twinloop.observe.image import sensed
    from twinloop.observe.truth import label_name, labels_of

    def film(rows: np.ndarray) -> Iterator[Mapping[str, Frames]]:
        for row in map(int, rows):
            values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
            attempt, length = int(episodes.draws.attempts[row]), int(episodes.lengths[row])
            images: dict[str, Frames] = {}
            for name, clip in renderer.film(episodes, row).items():
                seen = sensed(clip, values, seed=seed, attempt=attempt, name=name)
                # A camera slower than the control rate repeats its last image and labels until the next one.
                repeated = shown_in(seen.ticks, length)
                if clip.camera.rgb:
                    images[PREFIX + name] = HeldFrames(seen.rgb, repeated)
                if clip.camera.depth:
                    images[PREFIX + name + DEPTH] = HeldFrames(seen.depth_m, repeated)
                for label, truth in labels_of(clip, seen).items():
                    masks = truth.dtype == np.uint8
                    images[label_name(name, label)] = HeldFrames(truth, repeated) if masks else truth[repeated]
            yield images

    return film


def calibration_columns(cameras: Mapping[str, CameraConfig], draws: Draws) -> dict[str, list[list[float]]]:
    """Columns with fx, fy, cx, cy and distortion of each camera, and its pose in its mount (4 × 4, by rows)."""
    columns: dict[str, list[list[float]]] = {}
    for name, camera in cameras.items():
        lens, pose = columns.setdefault(f"camera/{name}/lens", []), columns.setdefault(f"camera/{name}/to_mount", [])
        for row in range(len(draws.attempts)):
            values = {column: float(array[row]) for column, array in draws.values.items()}
            settings = image_settings(values)
            pinhole = intrinsics_of(camera, fov_deg(camera, settings), settings.distortion)
            lens.append([pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, pinhole.distortion])
            pose.append(camera_in_mount(camera, settings).ravel().tolist())
    return columns
