"""Images of each camera: RGB as JPEG, depth as PNG in whole millimetres, masks without compression."""

from collections.abc import Callable
from io import BytesIO

import numpy as np
import rerun as rr
from PIL import Image

from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.stored_episode import StoredEpisode
from twinloop.dashboard.rerun.views import CameraFeature, camera_features_of
from twinloop.dataset.depth import NEAREST_M

JPEG_QUALITY = 90
PER_METRE = 1000.0
MAX_SHOWN_M = 3.0
MASK_OPACITY = 0.6


def log_pictures(log: RerunLog, episode: StoredEpisode) -> None:
    for camera_feature in camera_features_of(episode.features):
        if camera_feature.feature.is_picture:
            frames = episode.dataset.pictures(episode.episode_index, camera_feature.feature.name)
            WRITERS[camera_feature.feature.dtype](log, camera_feature, frames)


def _rgb(log: RerunLog, camera_feature: CameraFeature, frames: np.ndarray) -> None:
    jpegs = [_encoded(frame, "JPEG", quality=JPEG_QUALITY) for frame in frames]
    log.columns(camera_feature.path, rr.EncodedImage.columns(blob=jpegs, media_type=["image/jpeg"] * len(jpegs)))


def _depth(log: RerunLog, camera_feature: CameraFeature, metres: np.ndarray) -> None:
    """A pixel without depth is stored as the nearest depth; here it becomes 0, which Rerun does not draw."""
    depth_m = np.where(metres <= NEAREST_M, 0, metres)
    pngs = [_encoded(frame, "PNG") for frame in np.round(depth_m * PER_METRE).astype(np.uint16)]
    log.columns(camera_feature.path, rr.EncodedDepthImage.columns(blob=pngs, media_type=["image/png"] * len(pngs)))
    log.static(
        camera_feature.path, rr.EncodedDepthImage.from_fields(meter=PER_METRE, depth_range=[0, MAX_SHOWN_M * PER_METRE])
    )


def _mask(log: RerunLog, camera_feature: CameraFeature, ids: np.ndarray) -> None:
    count, height, width = ids.shape[:3]
    form = rr.components.ImageFormat(
        width=width, height=height, color_model="L", channel_datatype=rr.ChannelDatatype.from_np_dtype(ids.dtype)
    )
    buffers = [np.ascontiguousarray(frame).tobytes() for frame in ids]
    log.columns(camera_feature.path, rr.SegmentationImage.columns(buffer=buffers, format=[form] * count))
    names = [(number, name) for number, name in enumerate(camera_feature.feature.names)]
    log.static(camera_feature.path, rr.AnnotationContext(names), rr.SegmentationImage.from_fields(opacity=MASK_OPACITY))


def _encoded(frame: np.ndarray, kind: str, **options: int) -> bytes:
    file = BytesIO()
    Image.fromarray(frame).save(file, kind, **options)
    return file.getvalue()


WRITERS: dict[str, Callable[[RerunLog, CameraFeature, np.ndarray], None]] = {
    "video": _rgb,
    "depth": _depth,
    "mask": _mask,
}
