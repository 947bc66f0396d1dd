"""Check of a video file before it is used as a camera's film: it decodes to its end, in colour, with 8 bits."""

from dataclasses import dataclass
from pathlib import Path

from twinloop.dataset.video import require_av
from twinloop.errors import DatasetError

EIGHT_BITS = 8


@dataclass(frozen=True)
class FilmFile:
    """A video file as its header describes it, and the number of frames that decode."""

    width: int
    height: int
    rate_hz: float
    pixel_format: str
    frames: int


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
            frames = 0
            if count:
                for frame in container.decode(stream):
                    if frame.is_corrupt:
                        raise DatasetError(f"{path}: frame {frames} is damaged; write or copy the file again")
                    frames += 1
                if stream.frames and frames != stream.frames:
                    raise DatasetError(
                        f"{path}: its header announces {stream.frames} frames, and {frames} can be decoded; "
                        "write or copy the file again"
                    )
            rate = stream.average_rate or stream.guessed_rate
            return FilmFile(stream.width, stream.height, float(rate) if rate else 0.0, stream.pix_fmt or "", frames)
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise DatasetError(f"{path}: cannot be decoded as an MP4 video: {error}") from None


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
        raise DatasetError(f"{path}: is grey ({pixel_format}); a camera's film has colour; {advice}")
