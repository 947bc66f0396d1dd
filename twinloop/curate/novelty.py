"""Novelty: how far each episode's motion is from the nearest other one, and which episodes are duplicates.

An episode is described by its states and actions at a few moments of its course. Values are scaled by the spread of
each channel, so a distance of 1 is one standard deviation of every channel (root mean square).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are imported when they are used

MOMENTS = 12
NEAR = 0.1
"""A near-duplicate is closer to another episode than this share of the median distance to the nearest neighbour."""
EXACT = 1e-6
BLIND = 1e-9


@dataclass(frozen=True)
class Novelty:
    """Distances between the episodes of a dataset.

    Attributes:
        distance: (n,) to the nearest other episode, in standard deviations.
        nearest: (n,) index of that episode.
        duplicates: pairs (first, second) of episodes with the same motion.
        near_duplicates: pairs that are much closer than usual neighbours.
    """

    distance: np.ndarray
    nearest: np.ndarray
    duplicates: tuple[tuple[int, int], ...]
    near_duplicates: tuple[tuple[int, int], ...]

    @property
    def redundant(self) -> np.ndarray:
        """(n,) True for every episode that repeats an earlier one, exactly or nearly."""
        flags = np.zeros(len(self.distance), bool)
        for _, later in (*self.duplicates, *self.near_duplicates):
            flags[later] = True
        return flags


def describe_motion(frames: np.ndarray) -> np.ndarray:
    """(MOMENTS × d + 1,) an episode's (frames, d) values at evenly spaced moments, and its length."""
    places = np.linspace(0, len(frames) - 1, MOMENTS)
    before = np.floor(places).astype(int)
    after = np.minimum(before + 1, len(frames) - 1)
    share = (places - before)[:, None]
    return np.append(((1 - share) * frames[before] + share * frames[after]).ravel(), np.log(len(frames)))


def novelty_of(descriptions: Sequence[np.ndarray] | np.ndarray) -> Novelty:
    """Compare all episodes with each other. descriptions: (n, k), from `describe_motion`."""
    values = np.asarray(descriptions, float)
    count = len(values)
    if count < 2:
        return Novelty(np.full(count, np.inf), np.full(count, -1), (), ())
    spread = values.std(axis=0)
    values = values[:, spread > BLIND] / spread[spread > BLIND]
    if not values.shape[1]:
        values = np.zeros((count, 1))
    values = values / np.sqrt(values.shape[1])
    tree = scipy.spatial.KDTree(values)
    distances, neighbours = (np.asarray(table) for table in tree.query(values, k=2))
    # Among equal episodes the first result need not be the episode itself.
    own = neighbours[:, 0] == np.arange(count)
    nearest = np.where(own, neighbours[:, 1], neighbours[:, 0])
    distance = np.where(own, distances[:, 1], distances[:, 0])
    usual = float(np.median(distance[distance > EXACT])) if (distance > EXACT).any() else 0.0
    exact = tree.query_pairs(EXACT)
    near = tree.query_pairs(max(NEAR * usual, EXACT)) - exact
    return Novelty(distance, nearest, tuple(sorted(exact)), tuple(sorted(near)))
