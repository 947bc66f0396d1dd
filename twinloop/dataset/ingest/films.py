"""Videos and image stacks of a source: decode and check them, and write them into a shard.

A video is copied packet by packet, without loss, if it begins with a key frame, has one every few frames and has no
frames out of order. Otherwise it is decoded and encoded again; conversions.json records this.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.curate.quality.recorded_episode import FilmFacts
from twinloop.dataset import depth
from twinloop.dataset.ingest.source import Film, PictureFormat
from twinloop.dataset.pictures import SAMPLED_FRAMES, SAMPLED_SIDE, video_file
from twinloop.dataset.stats import episode_stats
from twinloop.dataset.video import ARRAYS, VideoWriter, rate_of, require_av
from twinloop.dataset.video_check import check_film
from twinloop.durable import FileDigest, PatchedFile
from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature

KEY_EVERY = 12  # frames; longer distances between key frames make random access slow
MOST_PIXELS = 64_000_000
COPIED = ("av1", "ffv1", "h264", "hevc")
PART = 16  # images per call of the encoder
THUMB = 16  # every n-th pixel is compared to find identical images


@dataclass(frozen=True)
class VideoFilm:
    """A whole video file, or `frames` frames of it from `first` on, counted at `file_rate_hz`."""

    path: Path
    first: int = 0
    frames: int | None = None
    file_rate_hz: float = 0.0

    @property
    def file(self) -> Path | None:
        return self.path

    @property
    def rate_hz(self) -> float:
        with _reading(self.path) as container:
            rate = container.streams.video[0].average_rate
            return float(rate) if rate else 0.0

    def pictures(self, look: PictureFormat) -> Iterator[np.ndarray]:
        with _reading(self.path) as container:
            stream = container.streams.video[0]
            if stream.width * stream.height > MOST_PIXELS:
                raise DatasetError(f"{self.path}: images of {stream.width} × {stream.height} pixels are not supported")
            whole = self.frames is None
            ticks = 1.0
            if not whole:
                ticks = float(1 / (rate_of(self.file_rate_hz) * (stream.time_base or 1)))
                container.seek(round(self.first * ticks), stream=stream)
            for frame in container.decode(stream):
                index = round((frame.pts or 0) / ticks)
                if not whole and index < self.first:
                    continue
                if not whole and index >= self.first + (self.frames or 0):
                    break
                yield frame.to_ndarray(format=ARRAYS[look.kind])


@dataclass(frozen=True)
class StackFilm:
    """Images of an array: `read(start, stop)` returns (n, height, width, 3) uint8."""

    length: int
    read: Callable[[int, int], np.ndarray]
    file: Path | None = None
    rate_hz: float = 0.0

    def pictures(self, look: PictureFormat) -> Iterator[np.ndarray]:
        assert look.kind == "video"
        for start in range(0, self.length, PART):
            yield from self.read(start, min(start + PART, self.length))


@dataclass(frozen=True)
class Screening:
    """Result of decoding a video. samples: small images spread over it, for statistics."""

    facts: FilmFacts
    samples: tuple[np.ndarray, ...]


def screen(film: Film, look: PictureFormat, rows: int) -> Screening:
    """Decode a whole video: count its frames, check their size, find the longest run of identical images."""
    av = require_av()
    wanted = set(np.unique(np.linspace(0, max(rows - 1, 0), SAMPLED_FRAMES).round().astype(int)).tolist())
    stride = max(1, max(look.height, look.width) // SAMPLED_SIDE)
    samples, count, problem = [], 0, ""
    last, begun, longest = b"", 0, (0, 0)
    try:
        for picture in film.pictures(look):
            if picture.shape[:2] != (look.height, look.width):
                size = f"{picture.shape[0]} × {picture.shape[1]}"
                problem = f"image {count} is {size}; {look.height} × {look.width} is declared"
                break
            known = hashlib.blake2b(picture[::THUMB, ::THUMB].tobytes(), digest_size=8).digest()
            if known != last:
                last, begun = known, count
            elif count - begun > longest[1] - longest[0]:
                longest = (begun, count)
            if count in wanted:
                samples.append(np.ascontiguousarray(picture[::stride, ::stride]))
            count += 1
    except (av.error.FFmpegError, DatasetError, ValueError) as error:
        problem = f"decoding failed: {error}"
    rate = film.rate_hz if count and not problem else 0.0
    return Screening(FilmFacts(count, rate, longest, problem), tuple(samples))


def stats_of(samples: Sequence[np.ndarray], look: PictureFormat) -> np.ndarray:
    """(1, len(STATS), channels), as stored in a shard."""
    channels = 3 if look.kind == "video" else 1
    pixels = np.concatenate([sample.reshape(-1, channels) for sample in samples])
    pixels = depth.to_metres(pixels) if look.kind == "depth" else pixels.astype(np.float32) / 255
    return episode_stats(pixels, np.array([len(pixels)]))


def can_copy(film: Film, look: PictureFormat | None = None) -> bool:
    """Can the video be copied packet by packet into a shard?

    Grey and 10-bit films of a colour camera are encoded again, because not every reader of a dataset decodes them.
    """
    if not isinstance(film, VideoFilm):
        return False
    av = require_av()
    try:
        return _is_ours(film) and (look is None or look.kind != "video" or _has_usual_pixels(film.path))
    except (av.error.FFmpegError, DatasetError, IndexError, ValueError):
        return False  # the fault is reported when the video is decoded


def _has_usual_pixels(path: Path) -> bool:
    """Colour with 8 bits a channel."""
    try:
        check_film(path)
    except DatasetError:
        return False
    return True


def _is_ours(film: VideoFilm) -> bool:
    with _reading(film.path) as container:
        stream = container.streams.video[0]
        if stream.codec_context.codec.canonical_name not in COPIED:
            return False
        since, last = 0, None
        for place, (packet, index) in enumerate(_packets(container, film)):
            since = 1 if packet.is_keyframe else since + 1
            in_order = packet.pts is not None and (last is None or packet.pts > last)
            if (place == 0 and not packet.is_keyframe) or since > KEY_EVERY or not in_order:
                return False
            if film.frames is not None and index != film.first + place:
                return False
            last = packet.pts
        return last is not None


def copy_film(film: VideoFilm, path: Path, *, fps: float) -> tuple[FileDigest, int]:
    """Copy the packets of a video, one frame per row. Returns its digest and the number of frames."""
    av = require_av()
    target, count, time_base = PatchedFile(path), 0, 1 / rate_of(fps)
    try:
        with _reading(film.path) as container, av.open(target, "w", format="mp4") as out:
            stream = out.add_stream_from_template(container.streams.video[0], opaque=True)
            for packet, _ in _packets(container, film):
                packet.stream = stream
                packet.time_base = time_base
                packet.pts = packet.dts = count
                packet.duration = 1
                out.mux(packet)
                count += 1
        return target.seal(), count
    finally:
        target.close()


def encode_film(film: Film, look: PictureFormat, feature: Feature, path: Path, rows: int, *, fps: float) -> FileDigest:
    with VideoWriter(path, feature, fps) as writer:
        part: list[np.ndarray] = []
        for picture in film.pictures(look):
            # Depth codes are converted to metres and back to the same codes, without loss.
            part.append(depth.to_metres(picture) if look.kind == "depth" else picture)
            if len(part) == PART:
                writer.write(np.stack(part))
                part = []
        if part:
            writer.write(np.stack(part))
        return writer.finish(rows)


def film_path(folder: Path, feature: Feature) -> Path:
    return folder / video_file(feature)


def _packets(container, film: VideoFilm) -> Iterator[tuple]:
    """(packet, its number in the file) for each packet of the video."""
    stream = container.streams.video[0]
    if film.frames is None:
        yield from ((packet, number) for number, packet in enumerate(container.demux(stream)) if packet.size)
        return
    ticks = float(1 / (rate_of(film.file_rate_hz) * stream.time_base))
    container.seek(round(film.first * ticks), stream=stream)
    for packet in container.demux(stream):
        if not packet.size:
            continue
        index = round((packet.pts or 0) / ticks)
        if index >= film.first + film.frames:
            return
        if index >= film.first:
            yield packet, index


@contextmanager
def _reading(path: Path):
    av = require_av()
    # Always read as MP4: FFmpeg could take the file for a playlist and open other files.
    with av.open(str(path), format="mp4") as container:
        if not container.streams.video:
            raise DatasetError(f"{path}: contains no images")
        yield container
