"""Events in single episodes: what the episodes of a log say about causes that act in a share of them.

Means over a log hide what happens in a few episodes. So episodes whose trait is 1 are counted (`Trait.event`):

- The number of episodes that show an event has a beta-binomial distribution around the rate that the causes predict.
- An event that costs success must have happened in the episodes that failed. Given how many episodes failed, the
  probability that just these failed is compared with that of any others (`coincidences`). This also tells whether the
  event costs more on the robot than in the twin, where people do something else.

Which rows are events follows from the table: a row with a chance, words or a pool is a cause with a share
(`causes.py`), and the event traits of its gap show it.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.summary import ENTRIES, EVENTS, SUCCESS

SURE = 0.98
"""Highest probability with which an event is assumed to show in a trait."""
SHOWN = 0.3
"""A trait shows an event if its rate rises by this much per event."""
LOSSES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Losses of success that an event may cost on a robot, whatever it costs in the twin."""
EXTRA = 0.5
"""Prior probability that an event costs something else than in the twin: people do other things than the twin's."""
MIN_CONCENTRATION = 1.0


@dataclass(frozen=True)
class EpisodeEvents:
    """The events of the episodes of a log.

    Attributes:
        shown: (episodes, entries) 0 or 1 for entries of event traits; NaN for others, and if unknown.
        failed: (episodes,) whether the episode failed.
    """

    shown: np.ndarray
    failed: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """(entries,) number of episodes that show the event."""
        return np.nansum(self.shown, axis=0)

    @property
    def trials(self) -> np.ndarray:
        """(entries,) number of episodes in which it is known."""
        return np.isfinite(self.shown).sum(axis=0)


def events_of(traits: np.ndarray) -> EpisodeEvents:
    """The events of (episodes, traits) of a log."""
    shown = np.stack([traits[:, entry.trait] for entry in ENTRIES], axis=1)
    return EpisodeEvents(np.where(EVENTS, shown, np.nan), traits[:, ENTRIES[SUCCESS].trait] < 0.5)


def usual_rates(emulator: Emulator) -> tuple[np.ndarray, np.ndarray]:
    """((entries,) rate of each event in the unchanged twin, (entries,) its variance); NaN for other entries."""
    episodes = emulator.reference.episodes
    rates = np.where(EVENTS, (emulator.reference.values * episodes + 0.5) / (episodes + 1), np.nan)
    return rates, rates * (1 - rates) / (episodes + 2)


def log_probability(counts: np.ndarray, trials: np.ndarray, rates: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Log-probability of the numbers of episodes with an event, if their rates are known with these variances."""
    return log_likelihood(counts, trials, rates, variances) + log_choose(trials, counts)


def log_likelihood(counts: np.ndarray, trials: np.ndarray, rates: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """`log_probability` without `log_choose`, which does not depend on the rates."""
    rates = np.clip(rates, 1e-3, 1 - 1e-3)
    concentration = rates * (1 - rates) / np.maximum(variances, 1e-9) - 1
    np.maximum(concentration, MIN_CONCENTRATION, out=concentration)
    a = concentration * rates
    return log_beta_ratio(counts, trials - counts, a, concentration - a)


def log_beta_ratio(m: np.ndarray, n: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(B(m + a, n + b) / B(a, b)), with an absolute error below 1e-8.

    It takes a third of the time of six `scipy.special.gammaln`. The arguments are increased by 8 with the recurrence of
    the gamma function, and Stirling's series is accurate there. Its linear and constant terms cancel.
    """
    whole = a + b
    values = np.empty((6, *np.broadcast_shapes(np.shape(m), whole.shape)))
    for place, value in enumerate((a + m, b + n, whole, a, b, whole + (m + n))):
        values[place] = value
    # x (x + 1) ... (x + 7): the outermost factors have the product x (x + 7), the next pairs have 6, 10 and 12 more.
    pair = values * (values + 7)
    raised = pair * (pair + 6)
    raised *= pair + 10
    raised *= pair + 12
    values += 8
    logs = np.log(values)
    logs *= values - 0.5
    inverse = np.reciprocal(values, out=values)
    square = np.square(inverse, out=pair)
    series = square * (1 / 1260)
    series -= 1 / 360
    series *= square
    series += 1 / 12
    series *= inverse
    logs += series
    ratio = raised[:3]
    ratio /= raised[3:]
    return logs[:3].sum(axis=0) - logs[3:].sum(axis=0) - np.log(ratio.prod(axis=0))


def showing(emulator: Emulator, place: int, events: EpisodeEvents) -> np.ndarray:
    """(entries,) whether an event trait of the cause's own gap shows its event; all False if the cause is no event."""
    cause = emulator.causes[place]
    if cause.side != "share":
        return np.zeros(len(ENTRIES), bool)
    own = EVENTS & np.array([entry.about.gap == cause.gap for entry in ENTRIES]) & (events.trials > 0)
    return own & (np.nan_to_num(_per_event(emulator, place)) > SHOWN)


def own_evidence(emulator: Emulator, place: int, events: EpisodeEvents, entries: np.ndarray) -> np.ndarray:
    """(1 + grid,) log-likelihood ratio of each size of an event against no event, in the traits that show it."""
    rates, variances = (values[entries] for values in usual_rates(emulator))
    changes, errors = emulator.changes[place][:, entries], emulator.error[place][:, entries]
    logs = log_probability(
        events.counts[entries],
        events.trials[entries],
        rates + changes,
        variances + errors + np.square(emulator.bend[entries] * changes),
    )
    return (logs - logs[0]).sum(axis=1)


@dataclass(frozen=True)
class Coincidences:
    """How well events explain which episodes failed.

    Attributes:
        evidence: (C, 1 + grid) log-likelihood ratio: just these episodes fail if an event costs success, against any
            others. -inf where no event is compared: causes that are no events, and a size of 0.
        extra: (C, 1 + grid) probability that the event costs something else than in the twin; 0 where none is compared.
    """

    evidence: np.ndarray
    extra: np.ndarray


def coincidences(emulator: Emulator, events: EpisodeEvents) -> Coincidences:
    """Compare the episodes of events with those that failed."""
    evidence, extra = np.full(emulator.sizes.shape, -np.inf), np.zeros(emulator.sizes.shape)
    for place in range(len(emulator.causes)):
        entries = showing(emulator, place, events)
        if entries.any():
            own, other = _coincidence(emulator, place, events, entries)
            own, other = own + np.log1p(-EXTRA), other + np.log(EXTRA)
            evidence[place, 1:] = np.logaddexp(own, other)
            extra[place, 1:] = np.exp(other - evidence[place, 1:])
    return Coincidences(evidence, extra)


def _coincidence(
    emulator: Emulator, place: int, events: EpisodeEvents, entries: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(grid,) evidence of one cause if its event costs as much as in the twin, and if it may cost any loss."""
    from scipy.special import logsumexp

    cause, failed = emulator.causes[place], events.failed
    if failed.all() or not failed.any():
        return np.zeros(emulator.sizes.shape[1] - 1), np.zeros(emulator.sizes.shape[1] - 1)
    shares = np.array([cause.value(float(size)) for size in emulator.sizes[place, 1:]])
    usual = usual_rates(emulator)[0][entries]
    given = np.clip(usual + _per_event(emulator, place)[entries], None, SURE)
    shown = events.shown[:, entries]
    odds = np.where(shown > 0.5, given / usual, (1 - given) / (1 - usual))
    ratio = np.where(np.isfinite(shown), odds, 1.0).prod(axis=1)
    happened = shares[:, None] * ratio / (1 - shares[:, None] + shares[:, None] * ratio)
    own = np.clip((1 - emulator.success[place, 1:]) / shares, 0.0, 1.0)
    losses = np.column_stack([own, np.tile(LOSSES, (len(shares), 1))])
    base = 1 - emulator.usual_success
    rest = np.maximum(failed.mean() - shares[:, None] * losses, base)
    chances = np.clip(rest[:, :, None] + losses[:, :, None] * happened[:, None], 0.005, 0.995)
    logs = _pattern(chances, failed)
    return logs[:, 0], logsumexp(logs[:, 1:], axis=1) - np.log(len(LOSSES))


def _pattern(chances: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Log-probability that just these episodes fail, given their number, minus that of equal chances.

    Args:
        chances: (..., episodes) probability that each episode fails.
    """
    odds = np.log(chances) - np.log1p(-chances)
    count = int(failed.sum())
    # Sums over all sets of 0, 1, ... episodes: elementary symmetric polynomials of the odds.
    sums = np.full((*chances.shape[:-1], count + 1), -np.inf)
    sums[..., 0] = 0.0
    for episode in range(chances.shape[-1]):
        sums[..., 1:] = np.logaddexp(sums[..., 1:], sums[..., :-1] + odds[..., episode : episode + 1])
    return odds[..., failed].sum(axis=-1) - sums[..., count] + log_choose(np.array(len(failed)), np.array(count))


def _per_event(emulator: Emulator, place: int) -> np.ndarray:
    """(entries,) change of each rate per event, from the largest simulated share."""
    cause = emulator.causes[place]
    return emulator.changes[place, -1] / max(cause.value(float(emulator.sizes[place, -1])), 1e-9)


def log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Logarithm of the number of subsets with k of n elements."""
    from scipy.special import gammaln

    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
