"""Check of a video file before it is used as a camera's film: it decodes to its end, in colour, with 8 bits."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twinloop.dataset.video import require_av
from twinloop.errors import DatasetError

if TYPE_CHECKING:
    from av import VideoFrame

EIGHT_BITS = 8
GREY_LEVELS = 2
"""Colour channels of a grey pixel differ by at most this much after decoding."""
GREY = "a camera's film has colour; use the film of a colour camera, or restyle it in colour"


@dataclass(frozen=True)
class FilmFile:
    """A video file as its header describes it, the number of frames that decode, and whether a pixel has colour."""

    width: int
    height: int
    rate_hz: float
    pixel_format: str
    frames: int
    has_colour: bool


def check_film(path: Path, *, count: bool = False) -> FilmFile:
    """Read the header of an RGB film, and decode it wholly if `count`.

    Raises:
        DatasetError: it is not a video, it is cut off, or it is grey or has more than 8 bits a channel.
    """
    av = require_av()
    if not path.is_file():
        raise DatasetError(f"{path}: no such video file")
    try:
        # Always read as MP4: FFmpeg could take the file for a playlist and open other files.
        with av.open(str(path), format="mp4") as container:
            if not container.streams.video:
                raise DatasetError(f"{path}: contains no video stream")
            stream = container.streams.video[0]
            _refuse_pixels(path, stream.pix_fmt or "")
            frames, has_colour = 0, not count
            if count:
                for frame in container.decode(stream):
                    if frame.is_corrupt:
                        raise DatasetError(f"{path}: frame {frames} is damaged; write or copy the file again")
                    frames += 1
                    # Decoders deliver some grey films, such as those of H.264, in a format with colours.
                    has_colour = has_colour or _has_colour(frame)
                if stream.frames and frames != stream.frames:
                    raise DatasetError(
                        f"{path}: its header announces {stream.frames} frames, and {frames} can be decoded; "
                        "write or copy the file again"
                    )
            rate = float(stream.average_rate or stream.guessed_rate or 0.0)
            return FilmFile(stream.width, stream.height, rate, stream.pix_fmt or "", frames, has_colour)
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise DatasetError(f"{path}: cannot be decoded as an MP4 video: {error}") from None


def _has_colour(frame: "VideoFrame") -> bool:
    pixels = frame.to_ndarray(format="rgb24").astype(np.int16)
    return bool((pixels.max(axis=2) - pixels.min(axis=2)).max() > GREY_LEVELS)


def _refuse_pixels(path: Path, pixel_format: str) -> None:
    import av

    try:
        parts = av.VideoFormat(pixel_format).components
    except ValueError:
        raise DatasetError(f"{path}: its pixel format {pixel_format!r} is unknown; use 8-bit yuv420p") from None
    advice = "convert it, for example with `ffmpeg -i IN -pix_fmt yuv420p OUT.mp4`"
    bits = max((part.bits for part in parts), default=EIGHT_BITS)
    if bits > EIGHT_BITS:
        raise DatasetError(f"{path}: has {bits} bits a channel ({pixel_format}); 8 bits are supported; {advice}")
    if len(parts) < 3:
        raise DatasetError(f"{path}: is grey ({pixel_format}); {GREY}")
