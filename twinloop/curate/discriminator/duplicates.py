"""Copies of episodes within a set: exact ones, and ones that differ by less than any two good episodes do."""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.trajectories import Trajectories

POINTS = 12
NEAR_SHARE = 0.02
"""An episode that is nearer to another one than this share of the usual distance to the nearest neighbour is a copy."""
MIN_EPISODES = 8


@dataclass(frozen=True)
class Copies:
    """(n,) index of the earlier episode that each one copies, -1 for none; (n,) nearness, 1 at the limit."""

    original: np.ndarray
    nearness: np.ndarray


def fingerprints(trajectories: Trajectories) -> np.ndarray:
    """(n, k) each signal at a few points of the episode, from its start to its end."""
    place = np.linspace(0, 1, POINTS)
    rows = trajectories.starts[:, None] + np.round(place * (trajectories.lengths[:, None] - 1)).astype(int)
    parts = []
    for values in trajectories.signals.values():
        table = values[rows]
        # Elements that hardly vary between episodes must not decide by their noise.
        spread = table.std(axis=(0, 1))
        parts.append((table / np.maximum(spread, max(0.05 * float(spread.max()), 1e-9))).reshape(len(rows), -1))
    lengths = trajectories.lengths[:, None] / max(float(trajectories.lengths.std()), 1.0)
    return np.concatenate([*parts, lengths], axis=1)


def copies_in(prints: np.ndarray) -> Copies:
    """Compare episodes by their (n, k) fingerprints."""
    count = len(prints)
    none = Copies(np.full(count, -1), np.zeros(count))
    if count < 2:
        return none
    from scipy.spatial import KDTree

    tree = KDTree(prints)
    apart = tree.query(prints, k=2)[0][:, 1]
    usual = float(np.median(apart)) if count >= MIN_EPISODES else 1.0
    limit = max(NEAR_SHARE * usual, 1e-9)
    original, nearness = np.full(count, -1), np.zeros(count)
    for group in tree.query_pairs(limit, output_type="ndarray"):
        early, late = int(group.min()), int(group.max())
        if original[late] < 0 or early < original[late]:
            original[late] = early
        nearness[late] = max(
            nearness[late], 1 + np.log(limit / max(float(np.linalg.norm(prints[early] - prints[late])), 1e-12))
        )
    return Copies(original, nearness)
