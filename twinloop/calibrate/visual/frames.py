"""Reads frames of a real camera from videos or images in a folder, as short runs in the size of the twin's camera."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.calibrate.people import ask_people
from twinloop.durable import digest_file
from twinloop.errors import DatasetError, UsageError

FILMS = (".mp4", ".mkv", ".avi", ".mov", ".webm")
PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
RUN = 4  # consecutive frames in a run, enough to separate noise from motion
MOST_RUNS = 48
MOST_FILES = 4096


@dataclass(frozen=True)
class Run:
    """Consecutive frames. `rgb`: (f, h, w, 3) uint8. `film`: the name of the video, or of the folder of images."""

    film: str
    rgb: np.ndarray


@dataclass(frozen=True)
class Frames:
    """Runs of frames, and file -> SHA-256 of the files they were read from."""

    runs: tuple[Run, ...]
    digests: dict[str, str]


def read_frames(folder: Path, *, height: int, width: int, camera: str = "") -> Frames:
    """Read runs from all videos and images below a folder; only those with `camera` in their path, if any has it."""
    if not folder.exists():
        raise DatasetError(f"{folder}: no such folder of frames")
    ask_people(folder)
    files = sorted([folder] if folder.is_file() else (path for path in folder.rglob("*") if path.is_file()))
    films = _of_camera([path for path in files if path.suffix.lower() in FILMS], camera)
    pictures = _of_camera([path for path in files if path.suffix.lower() in PICTURES], camera)
    if not films and not pictures:
        raise DatasetError(f"{folder}: contains no video ({', '.join(FILMS)}) and no image ({', '.join(PICTURES)})")
    if len(films) + len(pictures) > MOST_FILES:
        raise UsageError(f"{folder}: {len(films) + len(pictures):,} files; choose at most {MOST_FILES:,}")
    runs_per_file = max(1, MOST_RUNS // max(len(films) + bool(pictures), 1))
    runs = [run for film in films for run in _runs_of_film(film, runs_per_file, height, width)]
    runs += _runs_of_pictures(pictures, runs_per_file, height, width)
    digests = {path.name: digest_file(path).sha256 for path in films}
    if pictures:
        together = hashlib.sha256("".join(digest_file(path).sha256 for path in pictures).encode())
        digests[f"{len(pictures)} pictures"] = together.hexdigest()
    return Frames(tuple(runs), digests)


def _of_camera(paths: list[Path], camera: str) -> list[Path]:
    """Paths that contain the camera's name, as in datasets with one folder per camera; all paths if none does."""
    pattern = re.compile(rf"(^|[._/]){re.escape(camera)}([._/]|$)")
    named = [path for path in paths if camera and pattern.search(path.as_posix())]
    return named or paths


def _runs_of_film(path: Path, count: int, height: int, width: int) -> list[Run]:
    import av
    import av.error

    runs, kept = [], []
    try:
        with av.open(str(path)) as film:
            stream = film.streams.video[0]
            total = stream.frames or 10 * RUN * count
            every = max(total // count, RUN)
            for number, frame in enumerate(film.decode(stream)):
                if number % every < RUN:
                    kept.append(fitted(frame.to_ndarray(format="rgb24"), height, width))
                if len(kept) == RUN:
                    runs.append(Run(path.name, np.stack(kept)))
                    kept = []
                if len(runs) == count:
                    break
    except (av.error.FFmpegError, IndexError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read as a video: {error}") from None
    if not runs:
        raise DatasetError(f"{path}: has fewer than {RUN} frames")
    return runs


def _runs_of_pictures(paths: list[Path], count: int, height: int, width: int) -> list[Run]:
    whole = [paths[first : first + RUN] for first in range(0, len(paths) - RUN + 1, RUN)] or ([paths] if paths else [])
    chosen = whole[:: max(1, len(whole) // count)][:count]
    return [Run(run[0].parent.name, np.stack([_picture(path, height, width) for path in run])) for run in chosen]


def _picture(path: Path, height: int, width: int) -> np.ndarray:
    import av
    import av.error

    try:
        with av.open(str(path)) as file:
            return fitted(next(file.decode(video=0)).to_ndarray(format="rgb24"), height, width)
    except (av.error.FFmpegError, IndexError, StopIteration, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read as an image: {error}") from None


def fitted(rgb: np.ndarray, height: int, width: int) -> np.ndarray:
    """Crop an image around its centre to the twin's aspect ratio and resize it by area, as for a policy's input."""
    import av
    import av.error

    tall, wide = rgb.shape[:2]
    if (tall, wide) == (height, width):
        return rgb
    if tall * width > wide * height:
        cut = wide * height // width
        rgb = rgb[(tall - cut) // 2 :][:cut]
    else:
        cut = tall * width // height
        rgb = rgb[:, (wide - cut) // 2 :][:, :cut]
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
    return frame.reformat(width=width, height=height, interpolation="AREA").to_ndarray(format="rgb24")
