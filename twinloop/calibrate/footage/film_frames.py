"""Frames of a fixed camera with the robot's joint positions at the same rows, read from the films of a dataset."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.people import ask_people
from twinloop.calibrate.track import column_of
from twinloop.dataset.ingest.films import VideoFilm
from twinloop.dataset.ingest.open_source import open_source
from twinloop.dataset.ingest.source import IngestSource, RawEpisode, Unreadable
from twinloop.dataset.video_check import check_film
from twinloop.durable import digest_file
from twinloop.errors import DatasetError, UsageError, nearest

MOST_FRAMES = 160
FEWEST_FRAMES = 12
PREFIX = "observation.images."


@dataclass(frozen=True)
class Footage:
    """Frames of one camera from one or more films.

    Attributes:
        camera: name of the camera.
        rgb: (f, h, w, 3) uint8.
        positions: (f, joints) positions of the model's joints in rad or m, in the order of `joints`.
        film: (f,) number of the film of each frame.
        rows: (f,) row of each frame in its episode.
        joints: names of the joints of the model that the log gives.
        logged: (rows, joints) positions of all rows of all episodes, filmed or not.
        digests: file -> SHA-256.
    """

    camera: str
    rgb: np.ndarray
    positions: np.ndarray
    film: np.ndarray
    rows: np.ndarray
    joints: tuple[str, ...]
    logged: np.ndarray
    digests: dict[str, str]

    @property
    def blocks(self) -> np.ndarray:
        """(f,) alternate runs of frames: 0 for the fit, 1 held out. Neighbouring frames are nearly equal, so whole runs
        of frames alternate."""
        numbers = np.zeros(len(self.film), int)
        for film in np.unique(self.film):
            of_film = np.flatnonzero(self.film == film)
            numbers[of_film] = np.arange(len(of_film)) // max(len(of_film) // 8, 1) % 2
        return numbers

    def select(self, chosen: np.ndarray) -> "Footage":
        return Footage(
            self.camera, self.rgb[chosen], self.positions[chosen], self.film[chosen], self.rows[chosen], self.joints,
            self.logged, self.digests,
        )  # fmt: skip


def read_footage(bench: Bench, dataset: Path, *, camera: str, most_frames: int = MOST_FRAMES) -> Footage:
    """Read frames of `camera`, evenly spread over the films of a LeRobot dataset, with the joint positions."""
    ask_people(dataset)
    source = open_source(dataset)
    feature = _feature(source, camera, dataset)
    episodes = [episode for index in range(len(source)) if (episode := _read(source, index)) is not None]
    filmed = [episode for episode in episodes if feature in episode.films]
    if not filmed:
        raise DatasetError(f"{dataset}: none of its {len(episodes)} episodes has a film of {feature}")
    look, per_film = source.looks[feature], max(FEWEST_FRAMES, most_frames // len(filmed))
    joints, frames, digests = _joints(bench), [], {}
    for number, episode in enumerate(filmed[:most_frames]):
        film = episode.films[feature]
        if isinstance(film, VideoFilm):
            check_film(film.path)
            digests[film.path.name] = digest_file(film.path).sha256
        wanted = np.unique(np.linspace(0, episode.rows - 1, per_film).round().astype(int))
        positions, count = _positions(bench, source, episode), 0
        for row, picture in enumerate(film.pictures(look)):
            if picture.shape[:2] != (look.height, look.width):
                size = f"{picture.shape[1]} × {picture.shape[0]}"
                raise DatasetError(
                    f"{film.file}: image {row} has {size} pixels; the dataset declares {look.width} × {look.height}"
                )
            if row in wanted and row < episode.rows:
                frames.append((picture, positions[row], number, row))
            count += 1
        if count != episode.rows:
            raise DatasetError(
                f"{film.file}: has {count} frames, but the episode has {episode.rows} rows; the film is cut off or "
                "belongs to another episode"
            )
    if len(frames) < FEWEST_FRAMES:
        raise DatasetError(f"{dataset}: {len(frames)} frames of {camera}; at least {FEWEST_FRAMES} are needed")
    return Footage(
        camera=camera, rgb=np.stack([frame[0] for frame in frames]), positions=np.stack([frame[1] for frame in frames]),
        film=np.array([frame[2] for frame in frames]), rows=np.array([frame[3] for frame in frames]), joints=joints,
        logged=np.concatenate([_positions(bench, source, episode) for episode in episodes]), digests=digests,
    )  # fmt: skip


def _feature(source: IngestSource, camera: str, dataset: Path) -> str:
    names = {name.removeprefix(PREFIX): name for name, look in source.looks.items() if look.kind == "video"}
    if camera not in names:
        raise UsageError(f"--camera {camera}: is not a camera of {dataset}; {nearest(camera, names)}")
    return names[camera]


def _read(source: IngestSource, index: int) -> RawEpisode | None:
    try:
        return source.read(index)
    except Unreadable:
        return None  # `twinloop ingest` names the episode; the others are used


def _joints(bench: Bench) -> tuple[str, ...]:
    joints = tuple(channel.joint for channel in bench.measured if channel.of == "position" and channel.joint)
    if not joints:
        raise UsageError(f"{bench.path}: `measured` has no position of a joint; a camera pose needs them")
    return joints


def _positions(bench: Bench, source: IngestSource, episode: RawEpisode) -> np.ndarray:
    """(rows, joints) in the units of the model."""
    columns = {name: np.asarray(values, float).reshape(episode.rows, -1) for name, values in episode.columns.items()}
    names = {column.name: column.names for column in source.columns() if column.names}
    log = Log(episode.label, np.arange(episode.rows, dtype=float), columns, names=names)
    channels = [channel for channel in bench.measured if channel.of == "position" and channel.joint]
    return np.concatenate(
        [column_of(log, channel) * channel.scale + channel.offset for channel in channels], axis=1
    )  # fmt: skip
