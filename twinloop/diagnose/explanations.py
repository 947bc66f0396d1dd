"""Explanations: posterior samples of what is wrong in a cell, given the summary of its episodes.

An explanation is a set of causes with sizes, and whether something unmodelled is present too. The difference between
the robot's summary and the twin's is

    d = sum of the changes of the causes + ε

- ε has a Student's t distribution for each entry. Its variance is the sampling variance of both summaries, the spread
  between physics engines (`engine_spread.py`), and the measured error of the emulator.
- The spread between engines has a scale that is sampled too. A robot that the twin models well differs less than the
  measured engines do, a robot that it models badly differs more, and most entries of the log show which it is.
- Something unmodelled changes an unknown part of the entries by an unknown amount, as large as those of modelled
  causes, and may cost any share of success.
- Events in single episodes are counted, and an event that costs success must coincide with the failures (`events.py`).
- The number of successes has a beta-binomial distribution around the predicted success rate. Causes may cost more than
  in the twin. This is likelier for larger sizes, and near a size at which the policy fails in the twin.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.events import EpisodeEvents, coincidences
from twinloop.diagnose.summary import COVARIATES, SUCCESS

STRESS = 0.1
"""How much a cause of size 1 can cost on a robot although it costs nothing in the twin (see `stress_of`)."""
MAX_EXTRA = 0.95  # highest probability that an event costs something else than in the twin


@dataclass(frozen=True)
class Observed:
    """What the robot's episodes show.

    Attributes:
        difference: (entries,) summary of the robot minus that of the twin; NaN if unknown.
        variance: (entries,) of the difference if the twin is right.
        engines: (entries,) part of `variance` that is the spread between engines.
        freedom: (entries,) degrees of freedom of `variance`.
        events: events in single episodes, and which episodes failed.
        shared: (entries, entries) covariance of errors that entries share (`small_errors.py`), part of `variance`; None
            if entries are compared one by one.
    """

    difference: np.ndarray
    variance: np.ndarray
    engines: np.ndarray
    freedom: np.ndarray
    events: EpisodeEvents
    shared: np.ndarray | None = None

    @property
    def episodes(self) -> int:
        return len(self.events.failed)

    @property
    def successes(self) -> int:
        return int((~self.events.failed).sum())

    @property
    def known(self) -> np.ndarray:
        """(entries,) entries that are compared: not commands, and not success, which is a number of successes."""
        known = np.isfinite(self.difference) & np.isfinite(self.variance) & ~COVARIATES
        known[SUCCESS] = False
        return known


@dataclass(frozen=True)
class Explanations:
    """Posterior samples.

    Attributes:
        sizes: (samples, C) size of each cause; 0 if it does not hold.
        unmodelled: (samples,) whether something unmodelled is present.
        loss: (samples,) share of success that something unmodelled costs.
        extra: (samples,) whether the causes cost more than in the twin.
        log_posterior: (samples,) up to a constant.
        scale: (samples,) scale of the spread between engines.
    """

    sizes: np.ndarray
    unmodelled: np.ndarray
    loss: np.ndarray
    extra: np.ndarray
    log_posterior: np.ndarray
    scale: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """(C,) sizes of the most probable sample."""
        return self.sizes[int(np.argmax(self.log_posterior))]

    @property
    def engine_scale(self) -> float:
        """The scale of the spread between engines for this robot."""
        return float(np.exp(np.log(self.scale).mean()))


def stress_of(emulator: Emulator, events: EpisodeEvents) -> np.ndarray:
    """(C, 1 + grid) how much each cause can cost more on a robot than in the twin.

    It grows with the square of the size, and with what twice the size costs in the twin: engines agree less on where a
    policy begins to fail than on what changes before. For an event in single episodes, those that failed say it.
    """
    grid = emulator.sizes.shape[1] - 1
    twice = np.minimum(2 * np.arange(grid + 1), grid)
    stress = STRESS * np.square(emulator.sizes) - np.log(np.maximum(emulator.success[:, twice], np.exp(-2.0)))
    compared = coincidences(emulator, events)
    return np.where(np.isneginf(compared.evidence), stress, -np.log1p(-np.minimum(compared.extra, MAX_EXTRA)))
