"""Curator: a fitted filter. It scores episodes and frames, and gives the reason of every score in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twinloop.curate.discriminator.duplicates import copies_in, fingerprints
from twinloop.curate.discriminator.feature_model import EpisodeFeatures, FeatureModel
from twinloop.curate.discriminator.head import FaultHead
from twinloop.curate.discriminator.trajectories import Trajectories, TrajectorySchema
from twinloop.curate.discriminator.words import reason_in_words
from twinloop.errors import UsageError, nearest

IMPLAUSIBLE = "implausible"
"""The verdict on an episode that a curator rejects."""
HEAD_UNIT = 3.0
"""Log odds of the head that count as much as a factor of e beyond a limit."""
MAX_SCORE = 50.0


@dataclass(frozen=True)
class Scores:
    """Scores of n episodes, larger is more implausible. An episode above the threshold is rejected.

    Attributes:
        attempts: (n,) number of each episode.
        values: (n,) score.
        threshold: of the curator.
        reasons: the worst aspect of each episode in words.
        aspects: (n,) name of that aspect.
        channels: (n,) its channel.
        worst_frame: (n,) the frame with the largest residual, counted from the start of the episode.
        frames: (frames,) largest residual of every frame, in usual sizes of good episodes.
        lengths: (n,) frames of each episode.
    """

    attempts: np.ndarray
    values: np.ndarray
    threshold: float
    reasons: tuple[str, ...]
    aspects: tuple[str, ...]
    channels: tuple[str, ...]
    worst_frame: np.ndarray
    frames: np.ndarray
    lengths: np.ndarray

    @property
    def rejected(self) -> np.ndarray:
        return ~(self.values <= self.threshold)  # NaN must not pass


@dataclass(frozen=True)
class Curator:
    """A fitted filter.

    Attributes:
        schema: of the episodes that it can score.
        model: features of episodes.
        limits: (features,) value of each feature that one good episode in two hundred exceeds.
        head: classifier of known kinds of faults.
        centre: (2,) where good episodes end: log of the largest ratio, and log odds of the head.
        threshold: an episode with a higher score is rejected.
        card: what it was trained on, and measured rates.
        digest: of its file, "" before it is written.
    """

    schema: TrajectorySchema
    model: FeatureModel
    limits: np.ndarray
    head: FaultHead
    centre: np.ndarray
    threshold: float
    card: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def score(self, trajectories: Trajectories, *, duplicates: bool = True, threads: int = 1) -> Scores:
        """Score episodes.

        Args:
            trajectories: episodes of the curator's schema.
            duplicates: compare the episodes with each other and reject copies, but for the first of them.
            threads: blocks of episodes that are scored at the same time.
        """
        refuse_misfit(self, trajectories.schema)
        finite = finite_episodes(trajectories)
        clean = trajectories if finite.all() else _without_non_finite(trajectories)
        features = self.model.features(clean, threads=threads)
        ratios = self.ratios(features)
        values = self.combine(ratios)
        worst = ratios.argmax(axis=1)
        names = [features.names[index] for index in worst]
        channels = [str(features.channels[row, index]) for row, index in enumerate(worst)]
        sizes = [float(ratios[row, index]) for row, index in enumerate(worst)]
        if duplicates:
            copies = copies_in(fingerprints(clean))
            for row in np.flatnonzero(copies.original >= 0):
                values[row] = max(values[row], self.threshold + copies.nearness[row])
                names[row], channels[row] = "duplicate", str(trajectories.attempts[copies.original[row]])
                sizes[row] = float(copies.nearness[row])
        for row in np.flatnonzero(~finite):
            values[row], names[row], channels[row], sizes[row] = MAX_SCORE, "range", "a NaN or infinite value", np.inf
        return Scores(
            attempts=trajectories.attempts,
            values=np.minimum(values, MAX_SCORE),
            threshold=self.threshold,
            reasons=tuple(map(reason_in_words, names, channels, sizes)),
            aspects=tuple(names),
            channels=tuple(channels),
            worst_frame=_worst_frames(features.frames, trajectories),
            frames=features.frames,
            lengths=trajectories.lengths,
        )

    def ratios(self, features: EpisodeFeatures) -> np.ndarray:
        """(n, features) features divided by their limits: above 1 where few good episodes are."""
        return np.clip(features.values, 0, 1e4) / self.limits

    def combine(self, ratios: np.ndarray) -> np.ndarray:
        """(n,) score: the larger one of the worst single aspect and the head, 0 where good episodes end."""
        alone = np.log(np.maximum(ratios.max(axis=1), 1e-3)) - self.centre[0]
        together = (self.head.logit(ratios) - self.centre[1]) / HEAD_UNIT
        # The head was trained on few kinds of faults, so it counts only where some aspect is at its limit.
        return np.maximum(alone, np.where(ratios.max(axis=1) > 1, np.minimum(together, alone + 1.0), alone))


def finite_episodes(trajectories: Trajectories) -> np.ndarray:
    """(n,) whether all numbers of an episode are finite and of a possible size."""
    with np.errstate(invalid="ignore"):
        wrong = [
            ~(np.isfinite(values) & (np.abs(values) < 1e12)).all(axis=1) for values in trajectories.signals.values()
        ]
    return ~trajectories.worst(np.logical_or.reduce(wrong).astype(np.int8)).astype(bool)


def _without_non_finite(trajectories: Trajectories) -> Trajectories:
    from dataclasses import replace

    signals = {}
    for name, values in trajectories.signals.items():
        with np.errstate(invalid="ignore"):
            usable = np.isfinite(values) & (np.abs(values) < 1e12)
        signals[name] = np.where(usable, values, 0.0)
    return replace(trajectories, signals=signals)


def _worst_frames(frames: np.ndarray, trajectories: Trajectories) -> np.ndarray:
    peak = np.repeat(trajectories.worst(frames), trajectories.lengths)
    rows = np.where(frames >= peak, np.arange(len(frames)), len(frames))
    return np.minimum.reduceat(rows, trajectories.starts) - trajectories.starts


def refuse_misfit(curator: Curator, schema: TrajectorySchema) -> None:
    """Raise if a curator was trained for another robot, rate or schema. Cameras may be missing."""
    own = curator.schema
    if own.robot != schema.robot:
        raise UsageError(
            f"the curator was trained for robot {own.robot!r}; the episodes are of {schema.robot!r}. "
            "Train one on episodes of this robot: twinloop curate DATASET --out DIR"
        )
    if abs(own.rate_hz - schema.rate_hz) > 1e-6:
        raise UsageError(
            f"the curator was trained at {own.rate_hz:g} Hz; the episodes have {schema.rate_hz:g} Hz. "
            "Train one on episodes of this rate"
        )
    for feature, names in own.elements.items():
        if feature not in schema.elements:
            raise UsageError(
                f"the curator reads {feature!r}, which the episodes do not have; {nearest(feature, schema.elements)}. "
                "Train one on episodes of this schema"
            )
        if schema.elements[feature] != names:
            given = ", ".join(schema.elements[feature])
            raise UsageError(
                f"the curator reads {feature!r} with the elements {', '.join(names)}; the episodes have {given}. "
                "Train one on episodes of this schema"
            )
