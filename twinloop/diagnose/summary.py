"""TraitSummary: a set of episodes as one vector: the level of every trait, and the spread of some."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.diagnose.traits.table import TRAITS, Trait

SHARE = "1"  # unit of traits that are a share, or 0 or 1
MIN_EPISODES = 4  # least number of episodes with a known trait


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

    @cached_property
    def floor(self) -> float:
        return (self.about.spread or 0.0) if self.spread else self.about.floor


ENTRIES: tuple[Entry, ...] = tuple(
    Entry(place, spread)
    for spread in (False, True)
    for place, trait in enumerate(TRAITS)
    if not spread or trait.spread is not None
)
FLOORS = np.array([entry.floor for entry in ENTRIES])


@dataclass(frozen=True)
class TraitSummary:
    """Summary of a set of episodes.

    Attributes:
        episodes: number of episodes.
        values: (entries,) NaN if too few episodes have the trait.
        variances: (entries,) sampling variance of `values`.
    """

    episodes: int
    values: np.ndarray
    variances: np.ndarray


def summarise(traits: np.ndarray) -> TraitSummary:
    """Summarise (episodes, traits) values."""
    entries = np.array([_entry(traits[:, entry.trait], entry) for entry in ENTRIES])
    return TraitSummary(len(traits), entries[:, 0], entries[:, 1])


def _entry(values: np.ndarray, entry: Entry) -> tuple[float, float]:
    trait = entry.about
    known = values[np.isfinite(values)]
    n = len(known)
    if n < MIN_EPISODES:
        return float("nan"), float("nan")
    scaled = trait.scaled(known)
    if entry.spread:
        # The offset keeps the logarithms of zero and of a very small spread close together.
        middle = np.median(scaled)
        width = 1.2533 * float(np.mean(np.abs(scaled - middle)))
        return float(np.log(width + trait.floor / 4)), 0.6 / (n - 1)
    if trait.unit == SHARE:
        share = float(scaled.mean())
        held = (share * n + 0.5) / (n + 1)
        return share, held * (1 - held) / n
    deviation = 1.4826 * float(np.median(np.abs(scaled - np.median(scaled))))
    return float(np.median(scaled)), 1.57 * deviation**2 / n
