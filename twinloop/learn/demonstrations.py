"""Demonstrations: the accepted episodes of one dataset in memory, as inputs and actions of a policy."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset import Dataset, ShardEntry, verify
from twinloop.dataset.layout import SHARDS
from twinloop.dataset.parquet import read_schema, to_numpy
from twinloop.dataset.people.consent import CONSENT_COLUMNS, PARTICIPANT, require_consent
from twinloop.dataset.shard import EPISODES
from twinloop.errors import DatasetError
from twinloop.learn.corrections import correction_weights
from twinloop.learn.free_labels import FreeLabels
from twinloop.learn.resample import resampled
from twinloop.learn.space import Space
from twinloop.observe.history import HISTORY, past_readings
from twinloop.observe.instruction import INSTRUCTION, instruction_vectors

BY_HUMAN = "by_human"
"""Feature of runlogs: whether a human chose the action of the frame."""


@dataclass(frozen=True)
class DataSource:
    """Provenance of demonstrations, for the card: identifies what a policy was trained on."""

    path: str
    name: str
    kind: str
    digest: str
    config_digest: str
    run_seed: int
    episodes: int
    frames: int


@dataclass(frozen=True)
class Demonstrations:
    """Episodes, concatenated.

    Attributes:
        vectors: input name -> (frames, d) float32.
        action: (frames, a) float32.
        lengths: (n,) frames of each episode.
        attempts, episode_index: (n,) attempt number and index among the stored episodes of the dataset.
        tasks: instructions of the episodes.
        real: recorded on a robot, not in a twin.
        frame_weights: (frames,) how often each frame is drawn, relative to others; None: all equally often.
        stride: training draws every `stride`-th frame of an episode. Chunks have the actions of all frames.
        labels: free labels of all frames (`free_labels.py`), or None.
    """

    space: Space
    source: DataSource
    dataset: Dataset
    vectors: dict[str, np.ndarray]
    action: np.ndarray
    lengths: np.ndarray
    attempts: np.ndarray
    episode_index: np.ndarray
    tasks: tuple[str, ...]
    real: bool
    frame_weights: np.ndarray | None = None
    stride: int = 1
    labels: FreeLabels | None = None

    @cached_property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @cached_property
    def last_frame(self) -> np.ndarray:
        """(frames,) index of the last frame of each frame's episode."""
        return np.repeat(self.starts + self.lengths - 1, self.lengths)

    @cached_property
    def episode_of_frame(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def frames(self) -> int:
        return len(self.action)

    @cached_property
    def drawn_frames(self) -> np.ndarray:
        """Frames that training draws from."""
        since_start = np.arange(self.frames) - np.repeat(self.starts, self.lengths)
        return np.flatnonzero(since_start % self.stride == 0)

    def chunks(self, frames: np.ndarray, horizon: int) -> np.ndarray:
        """Return (n, horizon, a) the actions from each frame on. After an episode's end its last action is repeated."""
        rows = np.minimum(frames[:, None] + np.arange(horizon), self.last_frame[frames][:, None])
        return self.action.take(rows, axis=0)

    def take(self, episodes: np.ndarray) -> "Demonstrations":
        """Return the demonstrations of the (k,) episodes, in that order."""
        lengths = self.lengths[episodes]
        rows = np.arange(lengths.sum()) + np.repeat(self.starts[episodes] - (np.cumsum(lengths) - lengths), lengths)
        return Demonstrations(
            space=self.space,
            source=self.source,
            dataset=self.dataset,
            vectors={name: values[rows] for name, values in self.vectors.items()},
            action=self.action[rows],
            lengths=lengths,
            attempts=self.attempts[episodes],
            episode_index=self.episode_index[episodes],
            tasks=tuple(self.tasks[episode] for episode in episodes),
            real=self.real,
            frame_weights=None if self.frame_weights is None else self.frame_weights[rows],
            stride=self.stride,
            labels=None if self.labels is None else self.labels.take(rows),
        )


def load_demonstrations(
    path: Path, inputs: tuple[str, ...], *, rate_hz: float | None = None, most: int | None = None
) -> Demonstrations:
    """Verify a dataset and read its accepted episodes, at most the first `most`, resampled to `rate_hz` if given.

    Damaged data is an error, because a policy would silently learn from it. Data of people who have not consented to
    training is an error too.
    """
    report = verify(path).require()
    dataset = Dataset.open(path)
    space = Space.of(dataset.header, inputs)
    columns = [*space.sensed, "action", *(("command",) if space.estimates else ())]
    if any(feature.name == BY_HUMAN for feature in dataset.header.features):
        columns.append(BY_HUMAN)
    tables: dict[str, list[np.ndarray]] = {name: [] for name in columns}
    lengths, attempts, indices, tasks = [], [], [], []
    stored, wanted = 0, most if most is not None else np.inf
    for entry in dataset.entries:
        episodes = dataset.episodes(entry, ["attempt", "length", "verdict", "task"])
        length = to_numpy(episodes["length"])
        has_rows = length > 0
        keep = has_rows & np.array([verdict == ACCEPTED for verdict in episodes["verdict"].to_pylist()], bool)
        keep &= np.cumsum(keep) <= wanted - sum(map(len, lengths))
        index = stored + np.cumsum(has_rows) - 1
        stored += int(has_rows.sum())
        if not keep.any():
            continue
        _require_consent(dataset, entry, keep)
        rows = np.repeat(keep, length)
        frames = dataset.frames(entry, columns)
        for name in columns:
            values = to_numpy(frames[name])[rows].astype(np.float32)
            tables[name].append(values.reshape(len(values), -1))
        lengths.append(length[keep])
        attempts.append(to_numpy(episodes["attempt"])[keep])
        indices.append(index[keep])
        tasks += [task for task, kept in zip(episodes["task"].to_pylist(), keep, strict=True) if kept]
    if not lengths:
        raise DatasetError(f"{path}: has no accepted episodes to train on; {stored} are stored")
    header = dataset.header
    vectors = {name: np.concatenate(parts) for name, parts in tables.items()}
    for name, values in vectors.items():
        if not np.isfinite(values).all():
            bad = int((~np.isfinite(values).all(axis=1)).sum())
            raise DatasetError(f"{path}: {name}: {bad:,} of {len(values):,} frames contain NaN or infinity")
    action = vectors.pop("action")
    count = np.concatenate(lengths)
    by_human = vectors.pop(BY_HUMAN, np.zeros((len(action), 1)))[:, 0] > 0.5
    if space.estimates:
        # Only here: the import loads MuJoCo, which the process of a deployed policy does not need.
        from twinloop.observe.estimate import ESTIMATE, estimated, model_of

        twin = model_of(space.robot, round(space.rate_hz))
        vectors[ESTIMATE] = estimated(vectors, vectors.pop("command"), count, twin, things=space.tracked_things)
    if any(feature.name == INSTRUCTION for feature in space.vectors):
        vectors[INSTRUCTION] = np.repeat(instruction_vectors(tasks), count, axis=0)
    if space.remembered:
        vectors[HISTORY] = past_readings(vectors, space.remembered, count, rate_hz=space.rate_hz)
    vectors = {feature.name: vectors[feature.name] for feature in space.vectors}
    source = DataSource(
        path=path.name, name=header.name, kind=header.source, digest=report.digest,
        config_digest=header.config_digest, run_seed=header.run_seed, episodes=len(count), frames=int(count.sum()),
    )  # fmt: skip
    demonstrations = Demonstrations(
        space, source, dataset, vectors, action, count, np.concatenate(attempts), np.concatenate(indices),
        tuple(tasks), real=header.source == "real",
        frame_weights=correction_weights(by_human, count, rate_hz=space.rate_hz),
    )  # fmt: skip
    return demonstrations if rate_hz in (None, space.rate_hz) else resampled(demonstrations, float(rate_hz))


def _require_consent(dataset: Dataset, entry: ShardEntry, keep: np.ndarray) -> None:
    names = read_schema(dataset.path / SHARDS / entry.name / EPISODES).names
    wanted = [name for name in (PARTICIPANT, *CONSENT_COLUMNS) if name in names]
    if wanted:
        people = dataset.episodes(entry, wanted).filter(pa.array(keep))
        require_consent(people, "train", where=str(dataset.path))
