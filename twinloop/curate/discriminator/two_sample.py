"""Classifier two-sample test: can a classifier tell simulated from real episodes, and by which channels?

Each episode is scored by a classifier that has not seen it (cross-fitting), so the figure is honest. An AUROC of 0.5
means that the two cannot be distinguished.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from twinloop.curate.discriminator.training import auroc
from twinloop.curate.discriminator.trajectories import ACTION, COMMAND, STATE, Trajectories
from twinloop.errors import UsageError

MIN_REAL = 12
FOLDS = 5
DRAWS = 400
QUANTILES = (0.02, 0.25, 0.5, 0.75, 0.98)


@dataclass(frozen=True)
class ChannelGiveaway:
    """One channel: AUROC of a classifier that sees this channel alone, with its 95 % interval."""

    channel: str
    auroc: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class TwoSampleTest:
    """Simulated against real.

    Attributes:
        simulated, real: number of episodes.
        auroc: of the cross-fitted classifier on all shared channels, with a 95 % interval over episodes.
        p_value: share of random relabellings with an AUROC at least as high.
        channels: channels by how much they give simulation away.
        looks_real: (simulated,) probability that each simulated episode is real.
    """

    simulated: int
    real: int
    auroc: float
    interval: tuple[float, float]
    p_value: float
    channels: tuple[ChannelGiveaway, ...]
    looks_real: np.ndarray

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        values.pop("looks_real")
        return values


def refuse_few_to_compare(episodes: int, source: str, *, where: str = "") -> None:
    """Raise if there are too few episodes for a test. where: of the dataset, for the message."""
    if episodes < MIN_REAL:
        raise UsageError(
            f"{where}{episodes} {source} episodes are too few to learn from; a test with {FOLDS} folds needs at least "
            f"{MIN_REAL}"
        )


def compare_with_real(
    simulated: Trajectories,
    real: Trajectories,
    *,
    seed: int,
    on_channel: Callable[[int, int], None] = lambda *_: None,
) -> TwoSampleTest:
    """Cross-fit classifiers of simulated against real episodes, on all shared channels and on each one alone."""
    refuse_few_to_compare(len(real), "real")
    refuse_few_to_compare(len(simulated), "simulated")
    names = shared_channels(simulated, real)
    if not names:
        raise UsageError(
            f"simulated and real episodes share no channel: {', '.join(simulated.schema.elements)} against "
            f"{', '.join(real.schema.elements)}. Ingest the real data with a mapping that names its joints alike"
        )
    tables = [{name: _describe(part, *name) for name in names} for part in (simulated, real)]
    target = np.concatenate([np.zeros(len(simulated)), np.ones(len(real))])
    rng = np.random.default_rng(seed)
    folds = _folds(target, rng)
    columns = {name: np.concatenate([tables[0][name], tables[1][name]]) for name in names}
    channels = []
    for number, name in enumerate(names):
        on_channel(number, len(names) + 1)
        probability = _cross_fit(columns[name], target, folds)
        channels.append(ChannelGiveaway(f"{name[0]}/{name[1]}", *_with_interval(probability, target, rng)))
    probability = _cross_fit(np.concatenate(list(columns.values()), axis=1), target, folds)
    value, interval = _with_interval(probability, target, rng)
    shuffled = np.array([auroc(*_split(probability, rng.permutation(target))) for _ in range(DRAWS)])
    on_channel(len(names) + 1, len(names) + 1)
    return TwoSampleTest(
        simulated=len(simulated), real=len(real), auroc=value, interval=interval,
        p_value=float((1 + (shuffled >= value).sum()) / (1 + DRAWS)),
        channels=tuple(sorted(channels, key=lambda channel: -channel.auroc)),
        looks_real=probability[: len(simulated)],
    )  # fmt: skip


def shared_channels(one: Trajectories, other: Trajectories) -> list[tuple[str, str]]:
    """(feature, element) of the robot's channels that both have."""
    return [
        (feature, element)
        for feature, elements in one.schema.elements.items()
        for element in elements
        if feature in other.schema.elements and element in other.schema.elements[feature]
    ]


def _describe(trajectories: Trajectories, feature: str, element: str) -> np.ndarray:
    """(n, k) one channel of each episode: quantiles of its value, speed, jitter and, for a joint, tracking error."""
    rate = trajectories.schema.rate_hz
    index = trajectories.schema.elements[feature].index(element)
    signal = trajectories.signals[feature][:, index]
    before = trajectories.shifted(signal, -1)
    parts = [signal, (signal - before) * rate, np.abs(trajectories.shifted(signal, 1) - 2 * signal + before) * rate]
    reference = next((name for name in (COMMAND, ACTION) if name in trajectories.schema.elements), None)
    if feature == STATE and reference is not None and element in trajectories.schema.elements[reference]:
        place = trajectories.schema.elements[reference].index(element)
        parts.append(trajectories.signals[reference][:, place] - signal)
    table = np.stack(parts, axis=1)
    pieces = np.split(table, trajectories.starts[1:])
    described = np.stack([np.quantile(piece, QUANTILES, axis=0).ravel() for piece in pieces])
    repeats = trajectories.mean((signal == before).astype(float))
    return np.column_stack([described, repeats])


def _folds(target: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    fold = np.zeros(len(target), int)
    for label in (0, 1):
        rows = np.flatnonzero(target == label)
        fold[rows] = rng.permutation(np.arange(len(rows)) % FOLDS)
    return fold


def _cross_fit(table: np.ndarray, target: np.ndarray, folds: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer

    probability = np.zeros(len(target))
    for number in range(FOLDS):
        train, test = folds != number, folds == number
        scale = QuantileTransformer(n_quantiles=min(100, int(train.sum())), output_distribution="normal")
        model = make_pipeline(scale, LogisticRegression(C=0.1, class_weight="balanced", max_iter=500))
        model.fit(table[train], target[train])
        probability[test] = model.predict_proba(table[test])[:, 1]
    return probability


def _split(probability: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return probability[target == 0], probability[target == 1]


def _with_interval(
    probability: np.ndarray, target: np.ndarray, rng: np.random.Generator
) -> tuple[float, tuple[float, float]]:
    simulated, real = _split(probability, target)
    draws = [auroc(rng.choice(simulated, len(simulated)), rng.choice(real, len(real))) for _ in range(DRAWS)]
    low, high = np.quantile(draws, (0.025, 0.975))
    return auroc(simulated, real), (float(low), float(high))
