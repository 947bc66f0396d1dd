"""Video files: one image feature of a shard, its episodes back to back, one video frame per row.

Every second frame is a key frame, so that reading any frame decodes at most two: training reads at random. If a camera
is slower than the rows, its repeated frames share a key frame, for at most HELD_FRAMES frames, and are not encoded
again. Each encoder runs on one thread: shards are encoded in parallel anyway, and the same images must give the same
bytes. Only this module and `repeated_frames` import PyAV, and only for datasets with images.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from twinloop.durable import FileDigest, PatchedFile
from twinloop.errors import CorruptError, DatasetError, UsageError
from twinloop.observe.recording import Feature, Frames, HeldFrames

from . import depth
from .ffv1 import Ffv1Encoder, proven_encoder

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream


# No block search: encoding takes a quarter of the time of "superfast" and 25 % more bytes.
_X265 = (
    "lossless=1",
    "keyint=5",
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

Repeats = Literal["skipped", "copied", "encoded"]


@dataclass(frozen=True)
class Codec:
    """Attributes:
    repeats: how a repeated image is written: as a frame of skipped blocks, as a copy of its packet, or encoded again.
    """

    encoder: str
    pixels: str
    options: Mapping[str, str]
    repeats: Repeats = "encoded"


HELD_FRAMES = 5  # as in repeated_frames, which is imported only for datasets with images

# No B frames: their order in the file differs from their order in time, and seeking uses the order in the file.
# Key frames are requested; "g" is only an upper limit. With "zerolatency" each frame is delivered at once.
_X264 = {
    "g": "250", "bf": "0", "preset": "ultrafast", "tune": "zerolatency", "threads": "1", "sc_threshold": "0",
    "forced-idr": "1",
}  # fmt: skip

# The first codec that PyAV's FFmpeg has is used. The second is for builds without the first and is deterministic too.
# Depth and masks are lossless, because an error of one bit can be metres of depth or another object id.
CODECS = {
    # AV1 needs nine times the time for four fifths of the bytes at the same PSNR.
    "video": (
        Codec("libx264", "yuv420p", {**_X264, "crf": "22"}, "skipped"),
        Codec("libsvtav1", "yuv420p", {"g": "2", "crf": "30", "preset": "12", "svtav1-params": "lp=1"}),
    ),
    # Lossless HEVC needs three times the time, and more bytes.
    "depth": (
        Codec("ffv1", "gray12le", {"g": "1", "threads": "1", "level": "3", "slicecrc": "0"}, "copied"),
        Codec("libx265", "gray12le", {"preset": "ultrafast", "forced-idr": "1", "x265-params": ":".join(_X265)}),
    ),
    "mask": (
        Codec("libx264", "gray", {**_X264, "qp": "0"}, "skipped"),
        Codec("ffv1", "gray", {"g": "1", "threads": "1"}, "copied"),
    ),
}
ARRAYS = {"video": "rgb24", "depth": "gray12le", "mask": "gray"}
"""Kind of image -> PyAV array format, for encoding and decoding."""
FULL_RANGE = 2  # FFmpeg's AVCOL_RANGE_JPEG: values 0 to 255; the usual video range is 16 to 235


@dataclass(frozen=True)
class VideoFacts:
    """Codec name (not the encoder's) and pixel format of a video file."""

    codec: str
    pixels: str


def require_av():
    try:
        import av
        import av.error
    except ImportError:
        raise UsageError("images need PyAV, which is not installed; run: pip install 'twinloop[video]'") from None
    return av


def encoder_version() -> str:
    """Return the versions of PyAV and its FFmpeg. Other versions may encode the same images to other bytes."""
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
    """Encodes the images of one feature into a file. A context manager: leaving it closes an unfinished file."""

    def __init__(self, path: Path, feature: Feature, fps: float):
        av = require_av()
        self._path, self._feature = path, feature
        codec = codec_of(feature)
        # SVT-AV1 reads this variable at its start. Without it, it prints twenty lines per video to the terminal.
        os.environ.setdefault("SVT_LOG", "0")
        self._errors = av.error.FFmpegError
        self._time_base = 1 / rate_of(fps)
        self._written = 0
        self._group = HELD_FRAMES  # frames since the last key frame, itself included
        self._packet = b""  # of the last image
        self._encoder_behind = False  # the encoder does not know of the last frames
        self._file = PatchedFile(path)
        # Packets are small: they are written together and not one by one.
        self._container = av.open(self._file, "w", format="mp4", options={"flush_packets": "0"})
        stream = self._container.add_stream(codec.encoder, rate=rate_of(fps), options=dict(codec.options))
        self._stream = cast("VideoStream", stream)
        self._stream.height, self._stream.width = feature.shape[:2]
        self._stream.pix_fmt = codec.pixels
        if feature.dtype == "mask":
            # Otherwise decoding to RGB, as lerobot does, would rescale the ids.
            self._stream.codec_context.color_range = FULL_RANGE
        with self._explained():
            self._stream.codec_context.open()
            self._skipped = self._skipped_frames(codec)
            self._ffv1 = self._ffv1_encoder(codec)
        self._copies = codec.repeats == "copied"
        leave_real_time()

    def __enter__(self) -> "VideoWriter":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._container.close()
        except (self._errors, OSError):
            pass  # it follows an earlier error, which is the one to report
        finally:
            self._file.close()

    def _skipped_frames(self, codec: Codec) -> tuple[bytes, ...]:
        if codec.repeats != "skipped":
            return ()
        from .repeated_frames import skipped_frames

        height, width = self._feature.shape[:2]
        return skipped_frames(codec.encoder, codec.pixels, codec.options, width, height) or ()

    def _ffv1_encoder(self, codec: Codec) -> Ffv1Encoder | None:
        """An encoder that is faster than FFmpeg's and writes the same packets, if there is one for this video."""
        if codec.encoder != "ffv1":
            return None
        height, width = self._feature.shape[:2]
        record = bytes(self._stream.codec_context.extradata or b"")
        return proven_encoder(record, width, height, tuple(sorted(codec.options.items())))

    def write(self, pictures: Frames) -> None:
        """Encode images: (n, height, width, 3) uint8 RGB, (n, height, width) metres or (n, height, width) uint8 ids."""
        held = isinstance(pictures, HeldFrames)
        images, shown = (pictures.images, pictures.shown) if held else (pictures, np.arange(len(pictures)))
        rows, last = [], -1
        for index in shown.tolist():
            rows.append((index, last < 0 or (index != last and not _equal(images[index], images[last]))))
            last = index
        packets = self._encoded_before(images, [index for index, fresh in rows if fresh])
        with self._explained():
            for index, fresh in rows:  # the encoder takes one at a time
                if fresh and self._ffv1 is not None:
                    self._packet = next(packets)
                    self._repeat()
                elif fresh or not self._repeat():
                    self._encode(images[index], fresh)
                self._written += 1

    def _encoded_before(self, images: np.ndarray, indices: list[int]) -> Iterator[bytes]:
        """Packets of the selected images, from our own encoder, which takes several images at a time."""
        if self._ffv1 is None:
            return
        together = self._ffv1.together
        for start in range(0, len(indices), together):
            yield from self._ffv1.packets(depth.to_codes(images[indices[start : start + together]]))

    def _repeat(self) -> bool:
        """Write the last frame, or its packet, without encoding it; False if that is not possible."""
        if self._copies and self._packet:
            packet = self._packet
        elif self._skipped and self._group < HELD_FRAMES:
            packet = self._skipped[self._group - 1]
            self._group += 1
        else:
            return False
        repeated = require_av().Packet(packet)
        repeated.stream, repeated.time_base, repeated.duration = self._stream, self._time_base, 1
        repeated.pts = repeated.dts = self._written
        repeated.is_keyframe = self._copies
        self._container.mux(repeated)
        self._encoder_behind = True
        return True

    def _encode(self, picture: np.ndarray, fresh: bool) -> None:
        kind = self._feature.dtype
        pixels = depth.to_codes(picture) if kind == "depth" else np.ascontiguousarray(picture)
        frame = _frame_of(pixels, ARRAYS[kind])
        if kind == "mask":
            frame.color_range = FULL_RANGE
        is_key = self._encoder_behind or self._group >= (2 if fresh else HELD_FRAMES)
        self._group, self._encoder_behind = 1 if is_key else self._group + 1, False
        if is_key:
            frame.pict_type = 1  # FFmpeg's AV_PICTURE_TYPE_I
        frame.pts, frame.time_base = self._written, self._time_base
        packets = self._stream.encode(frame)
        self._packet = bytes(packets[0]) if self._copies and len(packets) == 1 else b""
        self._container.mux(packets)

    def finish(self, rows: int) -> FileDigest:
        """Flush the encoder and return the file's digest. Raises DatasetError if the file has not `rows` frames."""
        with self._explained():
            self._container.mux(self._stream.encode(None))
            self._container.close()
        digest = self._file.seal()
        frames = indexed_frames(self._path)
        if frames != rows or self._written != rows:
            counts = f"{self._written} were given and {frames} are in the file"
            raise DatasetError(f"{self._path}: {rows} frames expected, but {counts}")
        return digest

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            if self._file.error is not None:
                raise self._file.error from None
            raise DatasetError(f"{self._path}: {self._feature.name} cannot be encoded ({error})") from error


def _frame_of(pixels: np.ndarray, form: str) -> "VideoFrame":
    """A frame with these pixels. PyAV's own conversion takes five times as long for one channel."""
    frames = require_av().VideoFrame
    if pixels.ndim == 2:
        frame = frames(pixels.shape[1], pixels.shape[0], form)
        if frame.planes[0].line_size == pixels.strides[0]:
            frame.planes[0].update(pixels.tobytes())
            return frame
    return frames.from_ndarray(pixels, format=form)


def _equal(image: np.ndarray, other: np.ndarray) -> bool:
    """The middle row is compared first, because it differs in most images."""
    middle = len(image) // 2
    return np.array_equal(image[middle], other[middle]) and np.array_equal(image, other)


def leave_real_time() -> None:
    """Set every thread of this process back to normal scheduling.

    If SVT-AV1 is started by root, it sets itself and the calling thread to the highest real-time priority. Threads
    started later inherit it. On a machine with few cores, real-time threads that wait in a busy loop, such as those of
    a batched engine, then block all other threads: a run on two cores was blocked for hours.
    """
    if not hasattr(os, "sched_getscheduler"):
        return  # not Linux
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # the thread has ended
            if os.sched_getscheduler(int(thread)) in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))


def rate_of(fps: float) -> Fraction:
    return Fraction(fps).limit_denominator(1001)


def count_frames(path: Path) -> int:
    """Return the number of frames of the file. Each packet holds one frame."""
    with _reading(path) as container:
        return sum(packet.size > 0 for packet in container.demux(video=0))


def indexed_frames(path: Path) -> int:
    """Return the number of frames in the index of the file."""
    with _reading(path) as container:
        return container.streams.video[0].frames


def facts_of(path: Path) -> VideoFacts:
    with _reading(path) as container:
        stream = container.streams.video[0]
        return VideoFacts(stream.codec.canonical_name, stream.pix_fmt or "")


def read_frames(path: Path, feature: Feature, start: int, stop: int, *, fps: float) -> np.ndarray:
    """Return the frames [start, stop) of the file.

    They are (n, height, width, 3) uint8 RGB for a video, (n, height, width) float32 metres for depth and
    (n, height, width) uint8 ids for a mask.
    """
    kind = feature.dtype
    shape = feature.shape if kind == "video" else feature.shape[:2]
    out = np.empty((stop - start, *shape), np.float32 if kind == "depth" else np.uint8)
    frames_read = 0
    with _reading(path) as container:
        stream = container.streams.video[0]
        ticks = 1 / (rate_of(fps) * (stream.time_base or Fraction(1)))  # time units of the file per frame
        container.seek(round(start * ticks), stream=stream)  # to the last key frame at or before `start`
        for frame in container.decode(stream):
            index = round((frame.pts or 0) / ticks)
            if index >= stop:
                break
            if index >= start:
                pixels = frame.to_ndarray(format=ARRAYS[kind])
                out[index - start] = depth.to_metres(pixels) if kind == "depth" else pixels
                frames_read += 1
    if frames_read != stop - start:
        raise CorruptError(f"{path}: has {frames_read} of the frames {start} to {stop - 1}")
    return out


@contextmanager
def _reading(path: Path):
    av = require_av()
    try:
        # The format is fixed: a file that FFmpeg detects as a playlist could make it open other files.
        with av.open(str(path), format="mp4") as container:
            yield container
    except FileNotFoundError:
        raise CorruptError(f"{path}: is missing, but the manifest lists it") from None
    except (av.error.FFmpegError, IndexError, ValueError) as error:
        raise CorruptError(f"{path}: cannot be read as video ({error})") from None
