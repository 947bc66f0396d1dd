"""Rivals: the most probable explanation of every costly gap is simulated, and what fits the log better gains weight.

The emulator adds effects of single causes, so its explanations are approximate, and an approximation can prefer the
wrong gap. A rival is the most probable explanation in which a given gap costs most. The twin is fitted to the log once
for each rival and simulated. The samples of a rival gain or lose as much log-probability as the simulated episodes fit
the log better or worse than the emulator said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import betaln

from twinloop.diagnose.bank import CounterfactualCell
from twinloop.diagnose.costs import Costs
from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.explanations import Explanations, Observed
from twinloop.diagnose.summary import summarise
from twinloop.randomize.parameter import GAPS

MIN_SHARE = 0.03
"""Share of the samples from which a gap has a rival."""
MAX_RIVALS = 4
COSTLY = 0.02
MAX_GAIN = 5.0
"""Most log-probability that a simulation adds or takes: one point of the posterior stands for many samples."""
WIDE = 9.0
"""Variance of an entry that something unmodelled changes, as a multiple of its variance otherwise."""


@dataclass(frozen=True)
class Rival:
    """Samples with the same costliest gap.

    Attributes:
        members: (samples,) which samples.
        place: the most probable of them.
    """

    members: np.ndarray
    place: int


def rivals_of(explanations: Explanations, costs: Costs) -> list[Rival]:
    """The rivals, the one with most samples first. Samples in which no gap costs anything are a rival too."""
    gaps = costs.samples[:, : len(GAPS)]
    leading = np.where(gaps.max(axis=1) > COSTLY, gaps.argmax(axis=1), -1)
    groups = sorted((leading == gap for gap in np.unique(leading)), key=lambda members: -members.sum())
    return [
        Rival(members, int(np.argmax(np.where(members, explanations.log_posterior, -np.inf))))
        for number, members in enumerate(groups)
        if number == 0 or (number < MAX_RIVALS and members.mean() >= MIN_SHARE)
    ]


def gains_of(
    rivals: Sequence[Rival],
    cells: Sequence[CounterfactualCell],
    explanations: Explanations,
    emulator: Emulator,
    observed: Observed,
) -> np.ndarray:
    """(rivals,) log-probability that each simulated rival gains, relative to the others.

    Args:
        cells: the simulated rivals.
    """
    places = [rival.place for rival in rivals]
    gains = np.array(
        [_gain(explanations, place, cell, emulator, observed) for place, cell in zip(places, cells, strict=True)]
    )
    usual = np.average(gains, weights=[rival.members.sum() for rival in rivals])
    return np.clip(gains - usual, -MAX_GAIN, MAX_GAIN)


def reweighted(explanations: Explanations, rivals: Sequence[Rival], gains: np.ndarray, *, seed: int) -> Explanations:
    """Samples of the corrected posterior. The samples of a gap without a rival keep their weight."""
    log = np.zeros(len(explanations.sizes))
    for rival, gain in zip(rivals, gains, strict=True):
        log[rival.members] = gain
    if not log.any():
        return explanations
    weights = np.exp(log - log.max())
    reached = np.cumsum(weights) / weights.sum()
    steps = (np.arange(len(log)) + np.random.default_rng(seed).random()) / len(log)
    drawn = np.minimum(np.searchsorted(reached, steps), len(log) - 1)
    gained = replace(explanations, log_posterior=explanations.log_posterior + log)
    return Explanations(**{item.name: getattr(gained, item.name)[drawn] for item in fields(Explanations)})


def _gain(
    explanations: Explanations, place: int, cell: CounterfactualCell, emulator: Emulator, observed: Observed
) -> float:
    """Log-likelihood of the log at a simulated explanation, minus that at the emulated one."""
    simulated, known = summarise(cell.traits), observed.known
    change, share = emulator.at(explanations.sizes[place])
    variance = observed.variance + (explanations.scale[place] ** 2 - 1) * observed.engines
    emulated = np.square(emulator.bend * change) + emulator.error_at(explanations.sizes[place])
    both = known & np.isfinite(simulated.values)
    difference = emulator.reference.values + observed.difference - simulated.values
    affected = explanations.affected[place]
    freedom = observed.freedom[both]
    gain = _fit(difference[both], (variance + simulated.variances)[both], freedom, affected)
    gain -= _fit((observed.difference - change)[both], (variance + emulated)[both], freedom, affected)
    if explanations.extra[place]:
        return gain  # the number of successes is not taken from the twin
    rest = 1 - explanations.loss[place]
    rate = (cell.success * len(cell.traits) + 0.5) / (len(cell.traits) + 1)
    return (
        gain
        + _outcome(rate * rest, emulator, observed)
        - _outcome(emulator.usual_success * share * rest, emulator, observed)
    )


def _fit(difference: np.ndarray, variance: np.ndarray, freedom: np.ndarray, affected: float) -> float:
    """Log-likelihood of some entries, of which a share is changed by something unmodelled."""
    plain, wide = (
        -0.5 * np.log(scale * variance)
        - (freedom + 1) / 2 * np.log1p(np.square(difference) / (freedom * scale * variance))
        for scale in (1.0, WIDE)
    )
    if not affected:
        return float(plain.sum())
    return float(np.logaddexp(plain + np.log1p(-affected), wide + np.log(affected)).sum())


def _outcome(rate: float, emulator: Emulator, observed: Observed) -> float:
    """Log-likelihood of the number of successes at a success rate."""
    mean = float(np.clip(rate, 0.01, 0.99))
    a, b = emulator.concentration * mean, emulator.concentration * (1 - mean)
    k, n = observed.successes, observed.episodes
    return float(betaln(k + a, n - k + b) - betaln(a, b))
