"""Mixture: demonstrations of several datasets, sampled with weights.

A batch is a function of (seed, step), so a resumed training continues with the same batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.errors import DatasetError, UsageError
from twinloop.learn.demonstrations import DataSource, Demonstrations
from twinloop.learn.free_labels import FreeLabels, joined_labels
from twinloop.learn.pictures import PictureStore
from twinloop.learn.space import Space, table_of


@dataclass(frozen=True)
class Batch:
    """A training batch.

    Attributes:
        inputs: name -> (n, d) float32, or (n, height, width, channels): bytes, for depth float16.
        actions: (n, horizon, a) float32.
        real: (n,) float32, 1 for data recorded on a robot.
        tasks: (n,) instructions.
        labels: free labels of the frames, if the data has them.
    """

    inputs: dict[str, np.ndarray]
    actions: np.ndarray
    real: np.ndarray
    tasks: tuple[str, ...]
    labels: FreeLabels | None = None

    def split(self, count: int) -> list["Batch"]:
        """Return `count` equal parts of the batch."""
        rows = np.array_split(np.arange(len(self.real)), count)
        return [self] if count == 1 else [self._take(part) for part in rows]

    def _take(self, rows: np.ndarray) -> "Batch":
        return Batch(
            inputs={name: values[rows] for name, values in self.inputs.items()},
            actions=self.actions[rows],
            real=self.real[rows],
            tasks=tuple(self.tasks[row] for row in rows),
            labels=None if self.labels is None else self.labels.take(rows),
        )


class Mixture:
    """Samples batches from several datasets.

    Args:
        weights: share of each dataset in a batch; they sum to 1.
        episode_weights: for each dataset, (n,) how often frames of each episode are drawn, relative to others; None
            draws all frames equally often.
    """

    def __init__(
        self,
        parts: Sequence[Demonstrations],
        weights: Sequence[float],
        pictures: PictureStore | None = None,
        episode_weights: Sequence[np.ndarray] | None = None,
    ):
        self.parts, self.pictures = tuple(parts), pictures
        self.weights = np.asarray(weights, float)
        self.space = agreed_space(self.parts)
        self._cumulative: list[np.ndarray] | None = None
        if episode_weights is not None or any(part.frame_weights is not None for part in self.parts):
            of_episodes = episode_weights or [np.ones(len(part.lengths)) for part in self.parts]
            self._cumulative = [
                np.cumsum(_frame_weights(part, values)[part.drawn_frames])
                for part, values in zip(self.parts, of_episodes, strict=True)
            ]

    @property
    def frames(self) -> int:
        return sum(part.frames for part in self.parts)

    def batch(self, size: int, horizon: int, *, seed: int, step: int, share: tuple[int, int] = (0, 1)) -> Batch:
        """Return the batch of a step. share: (k, n) returns only the k-th of n equal parts of it."""
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, step])))
        counts = rng.multinomial(size, self.weights)
        frames = [self._drawn(part, int(count), rng) for part, count in enumerate(counts)]
        which, shares = share
        return self.gather(_cut(frames, which * size // shares, (which + 1) * size // shares), horizon)

    def _drawn(self, part: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count,) frames of one dataset."""
        if self._cumulative is None:
            return _draw(self.parts[part], count, rng)
        cumulative = self._cumulative[part]
        places = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
        return self.parts[part].drawn_frames[np.minimum(places, len(cumulative) - 1)]

    def sweep(self, size: int, horizon: int, *, most: int, seed: int) -> list[Batch]:
        """Return batches of the same `most` frames every time, for validation."""
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 1 << 40])))
        counts = rng.multinomial(min(most, self.frames), self.weights)
        rows = [_draw(part, count, rng) for part, count in zip(self.parts, counts, strict=True)]
        pieces = max(1, -(-int(counts.sum()) // size))
        split = [np.array_split(row, pieces) for row in rows]
        return [self.gather([rows_of_part[piece] for rows_of_part in split], horizon) for piece in range(pieces)]

    def gather(self, frames: list[np.ndarray], horizon: int) -> Batch:
        """Return the batch of the given frames of each dataset."""
        inputs = {
            feature.name: np.concatenate([p.vectors[feature.name].take(f, axis=0) for p, f in self._paired(frames)])
            for feature in self.space.vectors
        }
        if self.pictures is not None:
            inputs |= self.pictures.gather(self._paired(frames))
        return Batch(
            inputs=inputs,
            actions=np.concatenate([part.chunks(rows, horizon) for part, rows in self._paired(frames)]),
            real=np.concatenate([np.full(len(rows), part.real, np.float32) for part, rows in self._paired(frames)]),
            tasks=tuple(part.tasks[e] for part, rows in self._paired(frames) for e in part.episode_of_frame[rows]),
            labels=joined_labels([part.labels and part.labels.take(rows) for part, rows in self._paired(frames)]),
        )

    def _paired(self, frames: list[np.ndarray]) -> list[tuple[Demonstrations, np.ndarray]]:
        return list(zip(self.parts, frames, strict=True))


def _frame_weights(part: Demonstrations, of_episodes: np.ndarray) -> np.ndarray:
    """(frames,) weights of the episodes times those of the frames."""
    return np.repeat(of_episodes, part.lengths) * (1.0 if part.frame_weights is None else part.frame_weights)


def _cut(frames: list[np.ndarray], start: int, stop: int) -> list[np.ndarray]:
    """Return rows `start` to `stop` of the concatenated frames, as a list like `frames`."""
    offsets = np.cumsum([0, *map(len, frames)])
    return [rows[max(0, start - at) : max(0, stop - at)] for rows, at in zip(frames, offsets[:-1], strict=True)]


def _draw(part: Demonstrations, count: int, rng: np.random.Generator) -> np.ndarray:
    return part.drawn_frames[rng.integers(0, len(part.drawn_frames), count)]


def agreed_space(parts: Sequence[Demonstrations]) -> Space:
    """Return the common space of all parts. Raise DatasetError with a table of differences if there is none."""
    first = parts[0]
    for other in parts[1:]:
        differences = first.space.differences(other.space)
        if differences:
            table = table_of(differences, here=first.source.path, there=other.source.path)
            advice = ""
            if [difference for difference, _, _ in differences] == ["rate"]:
                slower = min(first.space.rate_hz, other.space.rate_hz)
                advice = f"\nOnly the rates differ: --rate {slower:g} resamples all to {slower:g} Hz"
            raise DatasetError(f"{first.source.path} and {other.source.path} are incompatible:\n{table}{advice}")
    return first.space


def weights_of(sources: Sequence[DataSource], mix: str | None) -> list[float]:
    """Return the weight of each dataset: by its number of frames, or from a text like `sim=0.8,real=0.2`.

    A name is a dataset's folder or a kind of source. The weight of a kind is divided among its datasets by frames.
    """
    frames = np.array([source.frames for source in sources], float)
    if mix is None:
        return list(frames / frames.sum())
    weights, unnamed = np.zeros(len(sources)), np.ones(len(sources), bool)
    for piece in mix.split(","):
        name, _, text = piece.partition("=")
        weight = _weight(piece, text)
        named = np.array([source.path == name.strip() for source in sources])
        if not named.any():
            named = np.array([source.kind == name.strip() for source in sources])
        if not (named & unnamed).any():
            valid = dict.fromkeys(label for source in sources for label in (source.path, source.kind))
            raise UsageError(
                f"--mix: {name.strip()!r} matches no dataset, or one that is already named; valid: {', '.join(valid)}"
            )
        weights[named] = weight * frames[named] / frames[named].sum()
        unnamed &= ~named
    if unnamed.any():
        missing = ", ".join(source.path for source, without in zip(sources, unnamed, strict=True) if without)
        raise UsageError(f"--mix: {mix!r} has no weight for {missing}; give every dataset a weight")
    if weights.sum() <= 0:
        raise UsageError("--mix: all weights are 0; at least one must be positive")
    return list(weights / weights.sum())


def real_share(episodes: int) -> float:
    """Share of real data, or of other new data, in a training batch: a quarter with 40 episodes, at most half.

    With a larger share of few episodes, a policy learns them by heart and forgets the rest.
    """
    return round(0.5 * episodes / (episodes + 40), 2)


def _weight(piece: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1e6:
        raise UsageError(f"--mix: {piece!r} was given; NAME=WEIGHT with a weight of 0 or more was expected")
    return weight


def split(demonstrations: Demonstrations, share: float, *, seed: int) -> tuple[Demonstrations, Demonstrations]:
    """Return (training, held-out) episodes. The choice depends on the attempt, so new episodes do not change it."""
    count = len(demonstrations.lengths)
    draw = np.array([
        np.random.default_rng(np.random.SeedSequence([seed, int(attempt)])).random()
        for attempt in demonstrations.attempts
    ])  # fmt: skip
    held = draw < share
    if count > 1:
        # At least one episode on each side, so that training and validation are both possible.
        held[int(draw.argmin())] = share > 0
        held[int(draw.argmax())] = False
    elif share > 0:
        held[:] = False
    return demonstrations.take(np.flatnonzero(~held)), demonstrations.take(np.flatnonzero(held))
