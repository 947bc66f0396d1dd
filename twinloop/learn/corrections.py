"""Corrections: weights of the frames of episodes in which a human took over from a policy.

The actions of the human are corrections and are drawn more often. The actions of the policy just before a takeover led
to it, so they are left out. Both follow Liu et al. 2022 (Robot Learning on the Job, arXiv:2211.08416), who weigh the
frames of a deployment by who acted.
"""

import numpy as np

BEFORE_S = 1.0
"""Frames of the policy that are left out before a takeover."""
HUMAN_SHARE = 0.5
"""Least share of the draws from episodes with a takeover that are frames of the human."""


def correction_weights(by_human: np.ndarray, lengths: np.ndarray, *, rate_hz: float) -> np.ndarray | None:
    """(frames,) how often each frame is drawn relative to others. None if no human took over: all equally often.

    Args:
        by_human: (frames,) whether a human chose the action.
        lengths: (n,) frames of each episode.
    """
    episode = np.repeat(np.arange(len(lengths)), lengths)
    human = np.bincount(episode, by_human, minlength=len(lengths))
    mixed = ((human > 0) & (human < lengths))[episode]
    if not mixed.any():
        return None
    weights = np.ones(len(by_human))
    follows = np.r_[False, episode[1:] == episode[:-1]]
    takeovers = np.flatnonzero(by_human & follows & ~np.r_[False, by_human[:-1]])
    starts = np.cumsum(lengths) - lengths
    for takeover in takeovers:
        first = max(takeover - round(BEFORE_S * rate_hz), starts[episode[takeover]])
        weights[first:takeover][~by_human[first:takeover]] = 0
    corrections = mixed & by_human
    others = float(weights[mixed & ~by_human].sum())
    weights[corrections] = max(1.0, HUMAN_SHARE / (1 - HUMAN_SHARE) * others / corrections.sum())
    return weights
