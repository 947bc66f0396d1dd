"""How much values of rows vary from episode to episode, from how much the traits vary between episodes of a robot.

A twin with constant values has the noise of the traits only. What varies beyond it on the robot is put down to rows
that vary: a tracker is noisier in dim light, for example. Episode e has the sizes mean + d_e with
d_e ~ N(0, diag(scatter²)), and its traits are off their mean by slope · d_e + noise. The scatter is found by
expectation maximisation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ITERATIONS = 300
START = 0.5
LEAST = 0.1
"""Smaller values count as no scatter."""
CONSTANT = 2.0
"""This many episodes without deviation are added, so that columns that no trait shows have no scatter."""
TO_STD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
MOST_DEVIATIONS = 3.0
"""Larger deviations of single episodes are cut off: a thing that falls over is no variation of a sensor."""


@dataclass(frozen=True)
class EpisodeTraits:
    """Traits of a robot's episodes beside what a twin with constant values has.

    Attributes:
        traits: (episodes, traits) of the robot; NaN where they are unknown. Each is known in some episode.
        slopes: (traits, columns) change of a trait per size of a column.
        noise: (traits,) variance of a trait in the twin between episodes with the same sizes.
    """

    traits: np.ndarray
    slopes: np.ndarray
    noise: np.ndarray

    @property
    def deviations(self) -> np.ndarray:
        """(episodes, traits) deviations from the mean, without outliers; NaN where they are unknown."""
        count = np.isfinite(self.traits).sum(axis=0)
        off = self.traits - np.nanmedian(self.traits, axis=0)
        most = MOST_DEVIATIONS * TO_STD * np.nanmedian(np.abs(off), axis=0)
        off = np.clip(off, -most, most)
        return (off - np.nanmean(off, axis=0)) * np.sqrt(count / np.maximum(count - 1, 1))


def episode_scatter(sources: Sequence[EpisodeTraits], columns: int) -> np.ndarray:
    """(columns,) standard deviations of the sizes between episodes."""
    episodes = [
        (source.slopes[known], source.noise[known], deviation[known])
        for source in sources
        if source.slopes.size
        for deviation in source.deviations
        for known in [np.isfinite(deviation)]
        if known.any()
    ]
    variance = np.full(columns, START**2)
    if not episodes:
        return np.zeros(columns)
    precisions = [slope.T @ (slope / noise[:, None]) for slope, noise, _ in episodes]
    pulls = [slope.T @ (deviation / noise) for slope, noise, deviation in episodes]
    for _ in range(ITERATIONS):
        # Posterior covariance and mean of the deviations d_e of all episodes at once.
        covariance = np.linalg.inv(np.array(precisions) + np.diag(1 / variance))
        mean = np.einsum("eij,ej->ei", covariance, np.array(pulls))
        squares = mean**2 + np.einsum("eii->ei", covariance)
        variance = np.maximum(squares.sum(axis=0) / (len(episodes) + CONSTANT), 1e-8)
    scatter = np.sqrt(variance)
    return np.where(scatter < LEAST, 0.0, scatter)
