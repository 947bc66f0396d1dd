"""Video files: one picture feature of a shard, its episodes back to back, a frame a row.

Every second frame is a key frame, so that any frame is one or two decoded frames away: training reads at
random. Depth of a camera slower than its rows has one a picture, and at least every HELD_FRAMES. Encoders run
on one thread each. Shards are encoded side by side, so more threads would gain nothing, and the same pictures
must be the same bytes. PyAV is imported here alone, and only when there are pictures.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from twinloop.durable import FileDigest, PatchedFile
from twinloop.errors import CorruptError, DatasetError, UsageError
from twinloop.observe.recording import Feature

from . import depth

if TYPE_CHECKING:
    from av import VideoStream


@dataclass(frozen=True)
class Codec:
    encoder: str
    pixels: str
    options: Mapping[str, str]


HELD_FRAMES = 5

# Without B frames, whose order in the file is not that of time: seeking is by the former. Without a search for the
# best blocks: it is a quarter of the time of "superfast" for a quarter more bytes, and depth was the slowest of all.
_X265 = (
    "lossless=1",
    f"keyint={HELD_FRAMES}",
    "min-keyint=1",
    "scenecut=0",
    "bframes=0",
    "b-adapt=0",
    "rc-lookahead=0",
    "weightp=0",
    "open-gop=0",
    "ctu=16",
    "min-cu-size=16",
    "fast-intra=1",
    "rd=1",
    "pools=none",
    "frame-threads=1",
    "log-level=none",
)

# The first that PyAV's FFmpeg has. The second of each is for builds without the first, and as deterministic;
# those of depth and masks are lossless: a code that is off by one in a high bit is metres off, an id another thing.
CODECS = {
    "video": (
        Codec("libsvtav1", "yuv420p", {"g": "2", "crf": "30", "preset": "12", "svtav1-params": "lp=1"}),
        Codec("libx264", "yuv420p", {"g": "2", "crf": "23", "preset": "veryfast", "threads": "1"}),
    ),
    "depth": (
        Codec("libx265", "gray12le", {"preset": "ultrafast", "forced-idr": "1", "x265-params": ":".join(_X265)}),
        Codec("ffv1", "gray12le", {"g": "1", "threads": "1"}),
    ),
    # x265 takes fourteen times as long for this and half as many bytes again.
    "mask": (
        Codec("libx264", "gray", {"g": "2", "bf": "0", "qp": "0", "preset": "superfast", "threads": "1"}),
        Codec("ffv1", "gray", {"g": "1", "threads": "1"}),
    ),
}
ARRAYS = {"video": "rgb24", "depth": "gray12le", "mask": "gray"}
"""How PyAV is given the pictures of each kind, and asked for them."""
FULL_RANGE = 2  # FFmpeg's AVCOL_RANGE_JPEG: 0 to 255, where video usually has 16 to 235


@dataclass(frozen=True)
class VideoFacts:
    """What a file says of itself: the codec's name (not the encoder's) and its pixel format."""

    codec: str
    pixels: str


def require_av():
    try:
        import av
        import av.error
    except ImportError:
        raise UsageError("pictures need PyAV, which is not installed; run: pip install 'twinloop[video]'") from None
    return av


def encoder_version() -> str:
    """Of PyAV and of the FFmpeg in it: another may encode the same pictures to other bytes."""
    av = require_av()
    return f"{av.__version__} libavcodec {'.'.join(map(str, av.library_versions['libavcodec']))}"


def codec_of(feature: Feature) -> Codec:
    codecs = CODECS[feature.dtype]
    available = require_av().codecs_available
    for codec in codecs:
        if codec.encoder in available:
            return codec
    names = " or ".join(codec.encoder for codec in codecs)
    raise UsageError(f"{feature.name}: this PyAV has no encoder {names}; install the wheel: pip install av")


class VideoWriter:
    """A context manager; what was not finished by its end is closed as it is."""

    def __init__(self, path: Path, feature: Feature, fps: float):
        av = require_av()
        self._path, self._feature = path, feature
        codec = codec_of(feature)
        # SVT-AV1 reads it when it starts, and without it prints twenty lines a video to the terminal.
        os.environ.setdefault("SVT_LOG", "0")
        self._errors = av.error.FFmpegError
        self._frame = av.VideoFrame.from_ndarray
        self._time_base = 1 / rate_of(fps)
        self._written = 0
        self._group = HELD_FRAMES  # frames since the last key frame, itself included
        self._file = PatchedFile(path)
        self._container = av.open(self._file, "w", format="mp4")
        stream = self._container.add_stream(codec.encoder, rate=rate_of(fps), options=dict(codec.options))
        self._stream = cast("VideoStream", stream)
        self._stream.height, self._stream.width = feature.shape[:2]
        self._stream.pix_fmt = codec.pixels
        if feature.dtype == "mask":
            # Or whoever decodes it to RGB, as lerobot does, would stretch the ids.
            self._stream.codec_context.color_range = FULL_RANGE
        with self._explained():
            self._stream.codec_context.open()
        leave_real_time()

    def __enter__(self) -> "VideoWriter":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._container.close()
        except (self._errors, OSError):
            pass  # only after an error that says more
        finally:
            self._file.close()

    def write(self, pictures: np.ndarray) -> None:
        """(n, height, width, 3) uint8 in RGB, (n, height, width) metres or (n, height, width) uint8 ids."""
        kind, last = self._feature.dtype, None
        with self._explained():
            for picture in pictures:  # the encoder takes one at a time
                fresh = last is None or not np.array_equal(picture, last[0])
                if last is None or fresh:
                    pixels = depth.to_codes(picture) if kind == "depth" else np.ascontiguousarray(picture)
                    last = picture, pixels
                frame = self._frame(last[1], format=ARRAYS[kind])
                if kind == "mask":
                    frame.color_range = FULL_RANGE
                if kind == "depth":
                    self._group = 1 if self._group >= (2 if fresh else HELD_FRAMES) else self._group + 1
                    if self._group == 1:
                        frame.pict_type = 1  # FFmpeg's AV_PICTURE_TYPE_I
                frame.pts, frame.time_base = self._written, self._time_base
                self._container.mux(self._stream.encode(frame))
                self._written += 1

    def finish(self, rows: int) -> FileDigest:
        """Write what the encoder still holds; the file must then have a frame for each of `rows`."""
        with self._explained():
            self._container.mux(self._stream.encode(None))
            self._container.close()
        digest = self._file.seal()
        found = count_frames(self._path)
        if found != rows or self._written != rows:
            counts = f"{self._written} were given and {found} are in the file"
            raise DatasetError(f"{self._path}: {rows} frames were to be encoded, {counts}")
        return digest

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            if self._file.error is not None:
                raise self._file.error from None
            raise DatasetError(f"{self._path}: {self._feature.name} cannot be encoded ({error})") from error


def leave_real_time() -> None:
    """Back to ordinary scheduling with every thread of this process.

    SVT-AV1, started by root, gives itself and the thread that starts it the highest real-time priority. What that
    thread starts inherits it, and on a machine with few cores threads that wait for one another in a loop, as those
    of a batched engine do, then keep everybody else from running: work on two cores stood still for hours.
    """
    if not hasattr(os, "sched_getscheduler"):
        return  # not Linux
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # it ended meanwhile
            if os.sched_getscheduler(int(thread)) in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))


def rate_of(fps: float) -> Fraction:
    return Fraction(fps).limit_denominator(1001)


def count_frames(path: Path) -> int:
    """Frames of the file, by its packets: each holds one."""
    with _reading(path) as container:
        return sum(packet.size > 0 for packet in container.demux(video=0))


def facts_of(path: Path) -> VideoFacts:
    with _reading(path) as container:
        stream = container.streams.video[0]
        return VideoFacts(stream.codec.canonical_name, stream.pix_fmt or "")


def read_frames(path: Path, feature: Feature, start: int, stop: int, *, fps: float) -> np.ndarray:
    """Frames [start, stop) of the file: (n, height, width, 3) uint8 in RGB, (n, height, width) metres or uint8 ids."""
    kind = feature.dtype
    shape = feature.shape if kind == "video" else feature.shape[:2]
    out = np.empty((stop - start, *shape), np.float32 if kind == "depth" else np.uint8)
    found = 0
    with _reading(path) as container:
        stream = container.streams.video[0]
        ticks = 1 / (rate_of(fps) * (stream.time_base or Fraction(1)))  # of the file's clock, a frame
        container.seek(round(start * ticks), stream=stream)  # to the key frame there or before
        for frame in container.decode(stream):
            index = round((frame.pts or 0) / ticks)
            if index >= stop:
                break
            if index >= start:
                pixels = frame.to_ndarray(format=ARRAYS[kind])
                out[index - start] = depth.to_metres(pixels) if kind == "depth" else pixels
                found += 1
    if found != stop - start:
        raise CorruptError(f"{path}: has {found} of the frames {start} to {stop - 1}")
    return out


@contextmanager
def _reading(path: Path):
    av = require_av()
    try:
        # As MP4 whatever it looks like: guessed to be a playlist it could make FFmpeg open other files.
        with av.open(str(path), format="mp4") as container:
            yield container
    except FileNotFoundError:
        raise CorruptError(f"{path}: is missing, though the manifest lists it") from None
    except (av.error.FFmpegError, IndexError, ValueError) as error:
        raise CorruptError(f"{path}: cannot be read as video ({error})") from None
