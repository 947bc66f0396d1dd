"""TraitSummary: a set of episodes as one vector: the level of every trait, and the spread of some."""

from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.traits.table import TRAITS, Trait

SHARE = "1"  # unit of traits that are a share, or 0 or 1
MIN_EPISODES = 4  # least number of episodes with a known trait
TRIMMED = 0.2
"""Share of the episodes that is cut at both ends of a trait before its mean is taken."""
SMALLEST_LOG = 0.02
"""Smallest meaningful difference of a logarithm."""


@dataclass(frozen=True)
class Entry:
    """One element of a summary.

    Attributes:
        trait: index of the trait.
        spread: whether it is the variation of the trait between episodes, not its level.
    """

    trait: int
    spread: bool

    @property
    def about(self) -> Trait:
        return TRAITS[self.trait]

    @property
    def name(self) -> str:
        return f"{self.about.name} (spread)" if self.spread else self.about.name

    @property
    def resolution(self) -> float:
        """Smallest meaningful difference, for rounding errors."""
        return SMALLEST_LOG if self.spread or self.about.log else self.about.resolution


ENTRIES: tuple[Entry, ...] = tuple(
    Entry(place, spread) for spread in (False, True) for place, trait in enumerate(TRAITS) if not spread or trait.spread
)
NAMES = tuple(entry.name for entry in ENTRIES)
SUCCESS = NAMES.index("success")
RESOLUTIONS = np.array([entry.resolution for entry in ENTRIES])
LOGARITHMIC = np.array([entry.spread or entry.about.log for entry in ENTRIES])
"""(entries,) whether an entry is a logarithm."""
OUTCOMES = np.array([entry.about.outcome for entry in ENTRIES])
"""(entries,) whether an entry only says that episodes fail."""
COVARIATES = np.array([entry.about.covariate for entry in ENTRIES])
"""(entries,) whether an entry is what the robot was asked to do."""
EVENTS = np.array([entry.about.event and not entry.spread for entry in ENTRIES])
"""(entries,) whether an entry is the share of episodes that show an event."""


@dataclass(frozen=True)
class TraitSummary:
    """Summary of a set of episodes.

    Attributes:
        episodes: number of episodes.
        values: (entries,) NaN if too few episodes have the trait.
        variances: (entries,) sampling variance of `values`.
        between: (entries,) standard deviation between episodes.
    """

    episodes: int
    values: np.ndarray
    variances: np.ndarray
    between: np.ndarray


def summarise(traits: np.ndarray) -> TraitSummary:
    """Summarise (episodes, traits) values."""
    entries = np.array([_entry(traits[:, entry.trait], entry) for entry in ENTRIES])
    return TraitSummary(len(traits), entries[:, 0], entries[:, 1], entries[:, 2])


def paired_difference(traits: np.ndarray, usual: np.ndarray, before: TraitSummary) -> tuple[np.ndarray, np.ndarray]:
    """((entries,) change of the summary from `usual` to `traits`, (entries,) its sampling variance).

    Both are episodes of the same scenes. Differences are taken scene by scene, so scenes do not add noise. If too few
    scenes have a trait in both, it is the difference of the summaries, or NaN.

    Args:
        before: the summary of `usual`.
    """
    after = summarise(traits)
    changes, variances = after.values - before.values, after.variances
    for place, entry in enumerate(ENTRIES):
        if entry.spread:
            continue
        both = np.isfinite(traits[:, entry.trait]) & np.isfinite(usual[:, entry.trait])
        if both.sum() < MIN_EPISODES:
            continue
        scaled = [entry.about.scaled(values[both, entry.trait]) for values in (traits, usual)]
        changes[place], variances[place] = _mean_and_variance(scaled[0] - scaled[1], entry.about.unit == SHARE)
    return changes, variances


def _mean_and_variance(values: np.ndarray, is_share: bool) -> tuple[float, float]:
    """The mean of a share and its sampling variance; else those of the mean without the lowest and highest fifth.

    Unlike a median, a trimmed mean is not stuck at the steps of a coarse trait.
    """
    n = len(values)
    if is_share:
        return float(values.mean()), float(values.var(ddof=1)) / n
    ordered, cut = np.sort(values), int(TRIMMED * n)
    # Linear interpolation between order statistics; `np.quantile` takes ten times as long.
    below, part = divmod(TRIMMED * (n - 1), 1)
    low, high = (
        one[int(below)] + part * (one[min(int(below) + 1, n - 1)] - one[int(below)]) for one in (ordered, ordered[::-1])
    )
    inner = np.minimum(np.maximum(ordered, low), high)
    # The variance of a trimmed mean is that of the clipped values, corrected for the share that was cut.
    variance = float(inner.var(ddof=1)) / (n * (1 - 2 * TRIMMED) ** 2)
    return float(ordered[cut : n - cut].mean()), variance


def _entry(values: np.ndarray, entry: Entry) -> tuple[float, float, float]:
    """(value, sampling variance, standard deviation between episodes) of an entry."""
    trait = entry.about
    known = values[np.isfinite(values)]
    n = len(known)
    if n < MIN_EPISODES:
        return float("nan"), float("nan"), float("nan")
    scaled = trait.scaled(known)
    if entry.spread:
        middle = np.median(scaled)
        width = 1.2533 * float(np.mean(np.abs(scaled - middle)))
        return float(np.log(width + trait.resolution)), 0.6 / (n - 1), 1.0
    if trait.unit == SHARE:
        share, deviation = float(scaled.mean()), float(scaled.std())
        if np.isin(scaled, (0.0, 1.0)).all():
            held = (share * n + 0.5) / (n + 1)
            deviation = float(np.sqrt(held * (1 - held)))
        return share, deviation**2 / n, deviation
    middle, variance = _mean_and_variance(scaled, is_share=False)
    return middle, variance, float(np.sqrt(n * variance))
