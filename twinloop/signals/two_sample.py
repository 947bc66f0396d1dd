"""Two-sample test of feature vectors: the maximum mean discrepancy (MMD) of two sets, against random divisions of both.

Features are scaled by the pooled standard deviation. The kernel is Gaussian with the median distance as its width. Rows
of one episode are correlated, so permutations and the bootstrap move whole episodes.
"""

from dataclasses import dataclass

import numpy as np

DRAWS = 400


@dataclass(frozen=True)
class TwoSample:
    """Result of the test.

    Attributes:
        mmd: the maximum mean discrepancy, 0 for equal distributions and at most about 1.4.
        interval: its 95 % interval, from a bootstrap over episodes.
        chance: 95th percentile of the discrepancy of random divisions: what equal datasets show.
        p_value: share of random divisions that are at least as far apart; NaN with fewer than two episodes a side.
        witness: (n, m) value of each row of both sets: high where rows of the second set are unlike the first.
    """

    mmd: float
    interval: tuple[float, float]
    chance: float
    p_value: float
    witness: tuple[np.ndarray, np.ndarray]

    @property
    def differs(self) -> bool:
        return self.p_value < 0.05


def scaled(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sets with every feature divided by its pooled standard deviation."""
    both = np.concatenate([ours, theirs])
    spread = both.std(axis=0)
    spread = np.where(spread > 1e-9, spread, 1.0) * np.sqrt(both.shape[1])
    return (ours - both.mean(axis=0)) / spread, (theirs - both.mean(axis=0)) / spread


def two_sample(ours: np.ndarray, theirs: np.ndarray, groups: tuple[np.ndarray, np.ndarray], *, seed: int) -> TwoSample:
    """Test whether (n, features) and (m, features) have the same distribution.

    Args:
        groups: number of the episode of each row, for both sets.
    """
    first, second = scaled(ours, theirs)
    both = np.concatenate([first, second])
    squared = np.square(both[:, None] - both[None]).sum(axis=2)
    width = np.median(squared[np.triu_indices(len(both), 1)]) if len(both) > 1 else 1.0
    kernel = np.exp(-squared / max(float(width), 1e-12))
    of_ours, of_theirs = (np.unique(group, return_inverse=True)[1] for group in groups)
    episode = np.concatenate([of_ours, of_theirs + of_ours.max() + 1])
    count, ours_count = int(episode.max()) + 1, int(of_ours.max()) + 1
    # (episodes, rows) share of each row in its episode, so that every episode weighs the same.
    member = (episode[None] == np.arange(count)[:, None]).astype(float)
    member /= member.sum(axis=1, keepdims=True)
    between = member @ kernel @ member.T
    side = np.arange(count) < ours_count
    observed = _mmd(between, side.astype(float), (~side).astype(float))
    rng = np.random.default_rng(seed)
    shuffled = [_mmd(between, mixed := rng.permutation(side).astype(float), 1 - mixed) for _ in range(DRAWS)]
    again = [_mmd(between, *_resampled(side, rng)) for _ in range(DRAWS)]
    p_value = (1 + sum(value >= observed for value in shuffled)) / (1 + DRAWS)
    if ours_count < 2 or count - ours_count < 2:
        p_value = float("nan")  # one episode does not show how episodes differ
    weight = (~side / max((~side).sum(), 1) - side / max(side.sum(), 1)) @ member
    witness = kernel @ weight
    low, high = np.quantile(again, (0.025, 0.975))
    return TwoSample(
        mmd=observed, interval=(float(low), float(high)), chance=float(np.quantile(shuffled, 0.95)), p_value=p_value,
        witness=(witness[: len(ours)], witness[len(ours) :]),
    )  # fmt: skip


def _resampled(side: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Weights of a bootstrap sample of the episodes of each side."""
    weights = []
    for members in (np.flatnonzero(side), np.flatnonzero(~side)):
        weights.append(np.bincount(rng.choice(members, len(members)), minlength=len(side)).astype(float))
    return weights[0], weights[1]


def _mmd(between: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> float:
    """Square root of the biased estimate, from the mean kernel between episodes."""
    difference = ours / ours.sum() - theirs / theirs.sum()
    return float(np.sqrt(max(difference @ between @ difference, 0.0)))


def family_distances(ours: np.ndarray, theirs: np.ndarray, families: dict[str, slice]) -> dict[str, float]:
    """Family -> root mean square difference of the means of its features, in pooled standard deviations."""
    both = np.concatenate([ours, theirs])
    spread = np.where(both.std(axis=0) > 1e-9, both.std(axis=0), 1.0)
    shift = (theirs.mean(axis=0) - ours.mean(axis=0)) / spread
    return {name: float(np.sqrt(np.mean(np.square(shift[part])))) for name, part in families.items()}
