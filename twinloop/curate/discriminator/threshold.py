"""The threshold of a curator: by a rate of false rejections, or by expected cost."""

from dataclasses import dataclass

import numpy as np

MARGIN, SMALL_SAMPLE = 0.85, 3.0
"""Added to the threshold of a false-rejection rate. Good episodes of objects and scenes that the training data lacks
score higher, by up to `MARGIN`, a factor of 2.3 on the worst aspect. Limits from n episodes are uncertain by about
`SMALL_SAMPLE` / √n."""
TAIL_SHARE = 0.1


@dataclass(frozen=True)
class Threshold:
    """How a threshold is chosen.

    Attributes:
        false_rejections: share of good episodes that may be rejected. Used where no costs are given.
        miss_cost, rejection_cost: cost of a faulty episode in the training data, and of a good one that is lost.
        fault_share: expected share of faulty episodes, for the expected cost.
    """

    false_rejections: float = 0.005
    miss_cost: float | None = None
    rejection_cost: float = 1.0
    fault_share: float = 0.05


@dataclass(frozen=True)
class ChosenThreshold:
    value: float
    how: str


def choose_threshold(good: np.ndarray, faulty: np.ndarray, by: Threshold) -> ChosenThreshold:
    """Choose from held-out scores of good episodes and scores of injected faults."""
    if by.miss_cost is None:
        margin = MARGIN + SMALL_SAMPLE / float(np.sqrt(len(good)))
        value = tail_quantile(good, by.false_rejections) + margin
        rate = f"false rejections at most {by.false_rejections:g}"
        return ChosenThreshold(value, f"{rate}, plus a margin of {margin:.2f}")
    options = np.unique(np.concatenate([good, faulty, [tail_quantile(good, 1e-3)]]))
    rejected = np.array([(good > option).mean() for option in options])
    missed = np.array([(faulty <= option).mean() for option in options])
    cost = by.fault_share * by.miss_cost * missed + (1 - by.fault_share) * by.rejection_cost * rejected
    best = int(np.flatnonzero(cost <= cost.min() + 1e-12)[-1])
    how = (
        f"least expected cost {cost[best]:.3g}: a miss costs {by.miss_cost:g}, a false rejection "
        f"{by.rejection_cost:g}, {by.fault_share:g} of the episodes are faulty"
    )
    return ChosenThreshold(float(options[best]), how)


def tail_quantile(values: np.ndarray, share: float) -> float:
    """The value that a share of the distribution exceeds, with an exponential tail where data is too scarce."""
    start = float(np.quantile(values, 1 - TAIL_SHARE))
    excess = values[values > start] - start
    if share >= TAIL_SHARE or not len(excess):
        return float(np.quantile(values, 1 - share))
    return start + float(excess.mean()) * float(np.log(TAIL_SHARE / share))
