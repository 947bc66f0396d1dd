"""The posterior of the values of rows, from traits that are linear functions of them.

Errors of sensors and delays are inferred from the traits of sensing and latency alone. The other traits depend on them
only through what the policy does, and a policy that fails does other things in another engine: a peg that it presses
onto a table lies still in one and slides in the other. So the other traits do not change errors of sensors and delays,
and the other columns are inferred given these (a cut posterior: Liu, Bayarri and Berger, Bayesian Analysis 4, 2009).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from twinloop.randomize.parameter import Gap

SAMPLES = 64
REWEIGHTINGS = 10
FREEDOM = 4.0
"""Degrees of freedom of the noise: a few traits differ for reasons that no row describes."""
UNDETERMINED = 0.6
"""A column is not determined if its deviation is more than this share of the deviation before any log."""
SIGNALS: tuple[Gap, ...] = ("sensing", "latency")
"""Gaps of sensors and delays. Their traits do not depend on how somebody moves."""


@dataclass(frozen=True)
class LinearTraits:
    """Traits of the episodes of one actor. A level is slope · sizes + noise.

    Attributes:
        gaps: (traits,) the gap that each trait is mainly evidence of.
        slopes: (traits, columns) change per size of a column.
        levels: (traits,) of the robot, minus that of the twin at size 0.
        precisions: (traits,) inverse variance of the levels.
    """

    gaps: tuple[Gap | None, ...]
    slopes: np.ndarray
    levels: np.ndarray
    precisions: np.ndarray

    @property
    def of_signals(self) -> "LinearTraits":
        """The traits of sensors and delays."""
        used = np.array([gap in SIGNALS for gap in self.gaps], bool)
        gaps: tuple[Gap | None, ...] = tuple(gap for gap in self.gaps if gap in SIGNALS)
        return LinearTraits(gaps, self.slopes[used], self.levels[used], self.precisions[used])

    def given(self, sizes: np.ndarray, known: np.ndarray) -> "LinearTraits":
        """The traits as functions of the columns that are not known, given the sizes of the known ones."""
        return replace(self, slopes=self.slopes[:, ~known], levels=self.levels - self.slopes[:, known] @ sizes[known])


def posterior(linear: Sequence[LinearTraits], prior: np.ndarray, gaps: Sequence[Gap]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the sizes of all columns.

    Args:
        prior: (columns,) standard deviations before any log.
        gaps: (columns,) the gap of each column.
    """
    mean, covariance = _joint([traits.of_signals for traits in linear], prior)
    signals = np.array([gap in SIGNALS for gap in gaps], bool)
    if not signals.all():
        others = np.ix_(~signals, ~signals)
        covariance[~signals] = covariance[:, ~signals] = 0.0
        mean[~signals], covariance[others] = _joint([traits.given(mean, signals) for traits in linear], prior[~signals])
    return mean, covariance


def _joint(linear: Sequence[LinearTraits], prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of all columns. Noise has a Student's t distribution (iteratively reweighted)."""
    slope, level, precision = (
        np.concatenate([getattr(traits, part) for traits in linear]) for part in ("slopes", "levels", "precisions")
    )
    mean, covariance, robust = np.zeros(len(prior)), np.diag(prior**2), np.ones(len(level))
    for _ in range(REWEIGHTINGS):
        weighted = slope * (robust * precision)[:, None]
        covariance = np.linalg.inv(slope.T @ weighted + np.diag(prior**-2))
        mean = covariance @ (weighted.T @ level)
        robust = (FREEDOM + 1) / (FREEDOM + precision * np.square(level - slope @ mean))
    return mean, covariance


def posterior_samples(
    mean: np.ndarray, covariance: np.ndarray, prior: np.ndarray, rng: np.random.Generator, *, scatter: np.ndarray
) -> np.ndarray:
    """(samples, columns) sizes. Columns that the traits do not determine have their mean in every sample.

    Their posterior is as wide as the prior, and data with all these values would be noisier than the robot.

    Args:
        scatter: (columns,) standard deviations of the sizes between episodes of the robot.
    """
    determined = np.sqrt(np.diag(covariance)) < UNDETERMINED * prior
    known, other = np.flatnonzero(determined), np.flatnonzero(~determined)
    gain = np.linalg.solve(covariance[np.ix_(other, other)], covariance[np.ix_(other, known)]).T
    left = covariance[np.ix_(known, known)] - gain @ covariance[np.ix_(other, known)]
    samples = np.tile(mean, (SAMPLES, 1))
    samples[:, known] = rng.multivariate_normal(mean[known], left + np.diag(scatter[known] ** 2), SAMPLES)
    return samples
