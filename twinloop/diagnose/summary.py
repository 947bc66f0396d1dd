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


def paired_change(traits: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(entries,) change of the summary from `usual` to `traits`, which are episodes of the same scenes.

    Differences are taken scene by scene, so scenes do not add noise. NaN if too few scenes have the trait in both.
    """
    after, before = summarise(traits).values, summarise(usual).values
    changes = after - before
    for place, entry in enumerate(ENTRIES):
        if entry.spread:
            continue
        both = np.isfinite(traits[:, entry.trait]) & np.isfinite(usual[:, entry.trait])
        if both.sum() < MIN_EPISODES:
            continue  # the difference of the summaries, or NaN
        scaled = [entry.about.scaled(values[both, entry.trait]) for values in (traits, usual)]
        middle = np.mean if entry.about.unit == SHARE else _trimmed_mean
        changes[place] = float(middle(scaled[0] - scaled[1]))
    return changes


def paired_variance(traits: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(entries,) sampling variance of `paired_change`; NaN where it is unknown."""
    variances = summarise(traits).variances
    for place, entry in enumerate(ENTRIES):
        if entry.spread:
            continue
        both = np.isfinite(traits[:, entry.trait]) & np.isfinite(usual[:, entry.trait])
        if both.sum() >= MIN_EPISODES:
            change = np.subtract(*(entry.about.scaled(values[both, entry.trait]) for values in (traits, usual)))
            variances[place] = _variance(change, entry.about.unit == SHARE)
    return variances


def _variance(values: np.ndarray, is_share: bool) -> float:
    """Sampling variance of the mean of a share, or of the trimmed mean."""
    n = len(values)
    if is_share:
        return float(values.var(ddof=1)) / n
    inner = np.clip(values, *np.quantile(values, (TRIMMED, 1 - TRIMMED)))
    # The variance of a trimmed mean is that of the clipped values, corrected for the share that was cut.
    return float(inner.var(ddof=1)) / (n * (1 - 2 * TRIMMED) ** 2)


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
    variance = _variance(scaled, is_share=False)
    return _trimmed_mean(scaled), variance, float(np.sqrt(n * variance))


def _trimmed_mean(values: np.ndarray) -> float:
    """Mean without the lowest and highest fifth. Unlike a median it is not stuck at the steps of a coarse trait."""
    cut = int(TRIMMED * len(values))
    return float(np.sort(values)[cut : len(values) - cut].mean())
