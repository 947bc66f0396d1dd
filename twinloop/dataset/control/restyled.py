"""Restyled films become episodes: the images of one camera change, everything else of the episode stays.

The result is a dataset of the same schema as the source, with one episode for each film, so `twinloop merge` can join
both. Its column `look` names the film.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.dataset._merge import ORIGIN
from twinloop.dataset.columns import STATS_PREFIX
from twinloop.dataset.control.camera_film import chosen_camera
from twinloop.dataset.pictures import PictureFiles, picture_stats, video_file
from twinloop.dataset.reader import Dataset
from twinloop.dataset.shard import write_shard
from twinloop.dataset.stats import STATS
from twinloop.dataset.video import VideoWriter, encoder_version, require_av
from twinloop.dataset.video_check import GREY, FilmFile, check_film
from twinloop.dataset.writer import DatasetWriter
from twinloop.durable import digest_file
from twinloop.errors import DatasetError, UsageError
from twinloop.observe.recording import PREFIX, Feature, Recording

RATE_TOLERANCE = 0.01
ASPECT_TOLERANCE = 0.01
PART = 16  # images per call of the encoder
FILMS = (".mp4", ".m4v", ".mov")


@dataclass(frozen=True)
class RestyledFilms:
    """Films that show one stored episode in other looks. looks: name -> checked file."""

    dataset: Dataset
    episode_index: int
    attempt: int
    camera: str
    looks: dict[str, Path]
    resized: tuple[str, ...]

    @property
    def feature(self) -> Feature:
        return self.dataset.header.feature(PREFIX + self.camera)


def split_episode(text: str) -> tuple[Path, int]:
    """Return folder and episode of `DATASET:K`."""
    folder, colon, number = text.rpartition(":")
    if not colon or not number.isdigit() or not folder:
        raise UsageError(f"--of {text}: a dataset and the index of an episode were expected, e.g. datasets/cell:3")
    return Path(folder), int(number)


def find_films(path: Path, dataset: Dataset, episode_index: int, *, camera: str | None = None) -> RestyledFilms:
    """Check the film `path`, or all films of a folder, against the episode they restyle.

    Raises:
        DatasetError: a film has another length, rate or shape than the episode, or cannot be decoded.
    """
    if not path.exists():
        raise UsageError(f"{path}: no such film or folder of films")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in FILMS) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{path}: contains no film ({', '.join(FILMS)})")
    name = chosen_camera(dataset, camera)
    frames = dataset.episode(episode_index)
    attempt, rows = int(frames["attempt"][0]), len(frames["timestamp"])
    feature, resized = dataset.header.feature(PREFIX + name), []
    for file in files:
        film = check_film(file, count=True)
        if _refuse_other(file, film, feature, rows=rows, rate_hz=dataset.header.fps, episode=episode_index):
            resized.append(file.stem)
    looks = {file.stem: file for file in files}
    if len(looks) < len(files):
        raise UsageError(f"{path}: two films have the same name without its ending; rename one of them")
    return RestyledFilms(dataset, episode_index, attempt, name, looks, tuple(resized))


def _refuse_other(
    path: Path, film: FilmFile, feature: Feature, *, rows: int, rate_hz: float, episode: int
) -> bool:  # fmt: skip
    """Raise if a film does not fit its episode. Returns whether its images must be resized."""
    if not film.has_colour:
        raise DatasetError(f"{path}: is grey in every pixel; {GREY}")
    if film.frames != rows:
        raise DatasetError(
            f"{path}: has {film.frames} frames, and episode {episode} has {rows} rows; every row needs one frame: "
            "cut the frames that the world model added, or restyle the whole episode"
        )
    if abs(film.rate_hz / rate_hz - 1) > RATE_TOLERANCE:
        raise DatasetError(
            f"{path}: has {film.rate_hz:g} frames a second, and the dataset {rate_hz:g}; the rates must be "
            f"equal. If only the rate in the file is wrong, write it again with `ffmpeg -r {rate_hz:g} -i IN OUT.mp4`"
        )
    height, width = feature.shape[:2]
    if (film.height, film.width) == (height, width):
        return False
    if abs((film.width / film.height) / (width / height) - 1) > ASPECT_TOLERANCE:
        raise DatasetError(
            f"{path}: has {film.width} × {film.height} pixels, and the camera {width} × {height}: the shape differs; "
            "restyle the exported video without cropping, or crop the film to the camera's shape"
        )
    return True


def ingest_restyled(
    films: RestyledFilms, out: Path, *, name: str, on_progress: Callable[[int, int], None] = lambda *_: None
) -> str:
    """Write one episode for each look into the dataset folder `out` and return its digest."""
    source = films.dataset
    digests = {look: digest_file(path).sha256 for look, path in films.looks.items()}
    identity = "\n".join([source.digest(), str(films.attempt), films.camera, *digests, *digests.values()])
    header = replace(
        source.header, name=name, config_digest=hashlib.sha256(identity.encode()).hexdigest(), shard_episodes=1,
        episodes=len(films.looks), keep_rejected=True, cuts=(), config_sha256="",
        versions={**source.header.versions, "av": encoder_version()},
    )  # fmt: skip
    config = f"# restyled: {source.header.name} {source.digest()}, attempt {films.attempt}, camera {films.camera}\n"
    stored, row = source.episode(attempt=films.attempt), _row(source, films.attempt)
    columns = {feature.name: stored[feature.name] for feature in header.columns}
    with DatasetWriter.open(out, header, config, verify=True) as writer:
        missing = {first for first, _ in writer.missing()}
        for attempt, (look, path) in enumerate(films.looks.items()):
            on_progress(attempt, len(films.looks))
            if attempt not in missing:
                continue
            folder = writer.scratch(f"attempt-{attempt}")
            recording = Recording(
                np.array([attempt]), np.array([len(stored["timestamp"])]), (row["task"],), header.features, columns
            )
            values = {
                **row,
                "attempt": attempt,
                "look": look,
                "look_digest": digests[look],
                "look_camera": films.camera,
            }
            arrays = {key: pa.array([value], ORIGIN.get(key)) for key, value in values.items()}
            pictures = _pictures(films, path, folder, len(stored["timestamp"]))
            writer.commit(
                write_shard(folder, attempt, attempt + 1, recording, arrays, fps=header.fps, pictures=pictures)
            )
        return writer.finish()


def _row(source: Dataset, attempt: int) -> dict:
    """The columns of the attempt, with where it comes from."""
    header = source.header
    table = source.attempts()
    (row,) = table.filter(pa.array([value == attempt for value in table["attempt"].to_pylist()])).to_pylist()
    origin = {
        "origin": source.digest(), "origin_attempt": attempt, "source": header.source, "seed": header.run_seed,
        "config_digest": header.config_digest, "engine": header.engine,
    }  # fmt: skip
    known = {key: value for key, value in row.items() if not key.startswith(STATS_PREFIX) and value is not None}
    return {**origin, **known}


def _pictures(films: RestyledFilms, path: Path, folder: Path, rows: int) -> PictureFiles:
    """Write the videos of one look: the film for its camera, the stored images for the others."""
    folder.mkdir(parents=True, exist_ok=True)
    source, files, stats = films.dataset, {}, {}
    for feature in source.header.pictures:
        target = folder / video_file(feature)
        samples = []
        with VideoWriter(target, feature, source.header.fps) as writer:
            own = feature.name == films.feature.name
            for part in _film_parts(path, feature) if own else _stored_parts(films, feature):
                writer.write(part)
                samples.append(part)
            files[video_file(feature)] = writer.finish(rows)
        stats[feature.name] = picture_stats(np.concatenate(samples), feature).reshape(1, len(STATS), -1)
    return PictureFiles(files, stats, {})


def _stored_parts(films: RestyledFilms, feature: Feature) -> Iterator[np.ndarray]:
    yield films.dataset.pictures(None, feature.name, attempt=films.attempt)


def _film_parts(path: Path, feature: Feature) -> Iterator[np.ndarray]:
    av = require_av()
    height, width = feature.shape[:2]
    with av.open(str(path), format="mp4") as container:
        part: list[np.ndarray] = []
        for frame in container.decode(container.streams.video[0]):
            if (frame.height, frame.width) != (height, width):
                frame = frame.reformat(width=width, height=height, format="rgb24", interpolation="AREA")
            part.append(frame.to_ndarray(format="rgb24"))
            if len(part) == PART:
                yield np.stack(part)
                part = []
        if part:
            yield np.stack(part)
