"""Green screen: pictures of a real place behind the simulated robot, as the `background` of a camera.

Pixels whose mask shows the room, or the room and the table, are replaced by a picture. Every episode draws one picture
of the folder from its own generator, so it depends on run seed, episode and camera only.
"""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from twinloop.errors import UsageError
from twinloop.observe.clip import CLASSES, Clip
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.imaging import ImageSettings

SMALLEST_SHARE = 0.5
"""A picture with fewer pixels a side than this share of the camera's would be a blur."""
REPLACED_CLASSES = {"room": ("background",), "table": ("background", "table")}


def with_background(clip: Clip, settings: ImageSettings, *, seed: int, attempt: int, name: str) -> Clip:
    """The clip with the background of its camera. `background_shade` scales the picture's light as it does the room's.

    Args:
        name: name of the camera; what follows a slash is ignored, so all images of an episode have one background.
    """
    background = clip.camera.background
    if background is None or clip.geom_ids is None:
        return clip
    rng = episode_rng(seed, attempt, stream=f"background/{name.partition('/')[0]}")
    chosen = background.files[int(rng.integers(len(background.files)))]
    picture = background_picture(chosen, clip.camera.height, clip.camera.width)
    if settings.room_shade != 1:
        # Shade scales light; stored levels follow with the usual gamma of 2.2.
        picture = np.clip(picture * settings.room_shade ** (1 / 2.2), 0, 255).round().astype(np.uint8)
    replaced = [CLASSES.index(kind) for kind in REPLACED_CLASSES[background.replaces]]
    behind = np.isin(clip.class_ids, replaced)
    return replace(clip, rgb=np.where(behind[..., None], picture, clip.rgb))


@lru_cache(maxsize=64)
def background_picture(path: Path, height: int, width: int) -> np.ndarray:
    """(height, width, 3) uint8: the picture, cropped about its centre to this shape and resized by area."""
    try:
        import av
        import av.error
    except ImportError:
        raise UsageError("pictures need PyAV, which is not installed; run: pip install 'twinloop[video]'") from None
    try:
        with av.open(str(path)) as file:
            rgb = next(file.decode(video=0)).to_ndarray(format="rgb24")
    except (av.error.FFmpegError, IndexError, StopIteration, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as a picture: {error}") from None
    tall, wide = rgb.shape[:2]
    if min(tall / height, wide / width) < SMALLEST_SHARE:
        raise UsageError(
            f"{path}: has {wide} × {tall} pixels, and the camera {width} × {height}; give a larger picture"
        )
    cut_tall, cut_wide = (
        (wide * height // width, wide) if tall * width > wide * height else (tall, tall * width // height)
    )
    top, left = (tall - cut_tall) // 2, (wide - cut_wide) // 2
    cropped = np.ascontiguousarray(rgb[top : top + cut_tall, left : left + cut_wide], np.uint8)
    frame = av.VideoFrame.from_ndarray(cropped, format="rgb24")
    picture = frame.reformat(width=width, height=height, interpolation="AREA").to_ndarray(format="rgb24")
    picture.setflags(write=False)
    return picture
