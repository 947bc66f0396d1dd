"""Runlog: a dataset of real episodes, each committed when it ends. A kill loses at most the running episode."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml

from twinloop.dataset import Dataset, DatasetWriter, Header, write_shard
from twinloop.dataset.layout import CONFIG, HEADER
from twinloop.dataset.versions import versions
from twinloop.deploy.episode_log import EpisodeLog, logged_features
from twinloop.deploy.robot import Description
from twinloop.durable import storage_errors
from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature, Recording


class Runlog:
    """A runlog opened by `Runlog.open`. It holds the dataset's lock until it is closed."""

    def __init__(self, writer: DatasetWriter):
        self._writer = writer

    @classmethod
    def open(cls, path: Path | str, about: Description, *, task: str, phases: Iterable[str]) -> "Runlog":
        """Create the runlog of a robot at `path`, or continue it after its last committed episode.

        Args:
            task, phases: names of the twin's task and of its phases; `phase` of a frame is an index into them.
        """
        path, text = Path(path), _recorded(about, task)
        header = _header(path, about, text, tuple(phases))
        if (path / HEADER).exists():
            stored = Header.read(path / HEADER)
            _refuse_another(path, text)
            # Software versions are columns of each episode, so a runlog can be continued after an update.
            header = replace(header, name=stored.name, versions=stored.versions, episodes=stored.episodes)
        return cls(DatasetWriter.open(path, header, text, irreplaceable=True))

    @property
    def path(self) -> Path:
        return self._writer.path

    @property
    def header(self) -> Header:
        return self._writer.header

    def __len__(self) -> int:
        """Number of committed episodes."""
        return len(self._writer.entries)

    def attempts(self) -> pa.Table:
        """Return a table with one row per committed episode."""
        return Dataset(self.path, self.header, self._writer.entries).attempts()

    def add(self, log: EpisodeLog) -> int:
        """Commit an episode and return its number. It is on disk when this returns."""
        writer = self._writer
        missing = writer.missing()  # an episode that a kill left uncommitted
        attempt = missing[0][0] if missing else self.header.episodes
        if not missing:
            writer.grow(attempt + 1)
        header = self.header
        columns = log.attempt_columns(attempt, fps=header.fps)
        draft = write_shard(
            writer.scratch(f"episode-{attempt}"), attempt, attempt + 1, _recording(header, log, attempt),
            {name: [value] for name, value in columns.items()}, fps=header.fps,
        )  # fmt: skip
        writer.commit(draft)
        return attempt

    def finish(self) -> str:
        """Update the LeRobot export to the committed episodes. Return the dataset's digest."""
        return self._writer.finish()

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> "Runlog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _recorded(about: Description, task: str) -> str:
    """Return the text of `config.yaml`: how the dataset was recorded, since no config generated it."""
    facts = {"robot": about.robot, "id": about.id, "rate_hz": about.rate_hz, "task": task, "lockstep": about.lockstep}
    return yaml.safe_dump({"recorded": facts}, sort_keys=False, allow_unicode=True)


def _header(path: Path, about: Description, text: str, phases: tuple[str, ...]) -> Header:
    features = logged_features(about)
    return Header(
        name=path.name,
        source="real",
        robot=about.robot,
        fps=about.rate_hz,
        features=features,
        phases=phases,
        config_digest=hashlib.sha256(text.encode()).hexdigest(),
        run_seed=0,
        shard_episodes=1,
        episodes=0,
        keep_rejected=True,
        versions=versions(features, films=False),
    )


def _refuse_another(path: Path, text: str) -> None:
    with storage_errors(path):
        stored = (path / CONFIG).read_text(encoding="utf-8") if (path / CONFIG).is_file() else text
    if stored != text:
        lines = [f"  in the log: {line.strip()}" for line in stored.splitlines() if line not in text.splitlines()]
        lines += [f"  this robot: {line.strip()}" for line in text.splitlines() if line not in stored.splitlines()]
        advice = "choose another --out; `twinloop merge` joins logs of several robots of one kind"
        raise DatasetError("\n".join([f"{path}: is a log of another robot or task; {advice}", *lines[:12]]))


def _recording(header: Header, log: EpisodeLog, attempt: int) -> Recording:
    length = log.length
    frames = {feature.name: _column(feature, log, length) for feature in header.columns}
    films = {feature.name: _film(feature, log, length) for feature in header.pictures}

    def pictures(_: np.ndarray) -> Iterator[Mapping[str, np.ndarray]]:
        yield films

    return Recording(
        attempts=np.array([attempt], np.int64),
        lengths=np.array([length], np.int64),
        tasks=(log.briefing.instruction,),
        features=header.features,
        frames=frames,
        pictures=pictures if films else None,
    )


def _column(feature: Feature, log: EpisodeLog, length: int) -> np.ndarray:
    values = log.frames.get(feature.name)
    if values is None:
        values = _told_by_the_outcome(feature.name, log, length)
    if values is None or len(values) != length:
        problem = "is missing" if values is None else f"has {len(values)} frames, but the action has {length}"
        raise DatasetError(f"{log.robot_id}: {feature.name} of an episode {problem}")
    rows = np.ascontiguousarray(values, dtype=feature.dtype)
    return rows.reshape(-1) if feature.shape == (1,) else rows.reshape(length, *feature.shape)


def _told_by_the_outcome(name: str, log: EpisodeLog, length: int) -> np.ndarray | None:
    last, success = np.arange(length) == length - 1, log.outcome == "success"
    known = {"next.done": last, "next.success": last & success, "next.reward": (last & success).astype(np.float32)}
    return known.get(name)


def _film(feature: Feature, log: EpisodeLog, length: int) -> np.ndarray:
    if feature.name not in log.frames:
        raise DatasetError(f"{log.robot_id}: {feature.name} of an episode has no images")
    film = np.asarray(log.frames[feature.name])
    return film.reshape(length, *feature.shape[:2]) if feature.dtype in ("depth", "mask") else film
