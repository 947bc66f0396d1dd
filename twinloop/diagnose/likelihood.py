"""EntryLikelihood: how probable the entries of a log's summary are, for the changes that some causes make.

Entries have Student's t distributions around their predicted changes. Entries of event traits are counts of episodes
with beta-binomial distributions (`events.py`).

Errors that entries share have normal distributions along a few directions of all entries. For each residual the most
probable shared errors are taken off, and the rest is compared entry by entry (Laplace's approximation of the integral
over shared errors; exact for normal distributions).
"""

import numpy as np

from twinloop.diagnose.emulator import Emulator, sum_of
from twinloop.diagnose.events import log_choose, log_likelihood, usual_rates
from twinloop.diagnose.explanations import Observed
from twinloop.diagnose.summary import EVENTS, LOGARITHMIC

OUTLIER = 3.0
"""An entry that something unmodelled changes differs by about this multiple of its usual standard deviation on this
robot, or by what usual causes change. An entry that differs by far more is better explained by a cause."""
CLEAR, CLOSE = 4.0, 2.0
"""An entry is clear if it differs by more than the first number of standard deviations. A cause explains it if its
prediction is within the second number of standard deviations."""
EXPLAINED_SHARE = 0.02
"""Something unmodelled changes a clear entry that a single cause explains with this share of its usual probability.
Otherwise other strange entries would hide a clear trait: if something unmodelled is present anyway, one more changed
entry costs it little."""
SHARED = 12
"""Directions of shared errors. Others count as errors of single entries."""
MIN_OWN = 0.03
"""Least share of an entry's variance that it shares with no other."""
MAX_RATIO = 600.0  # largest exponent of a ratio of likelihoods


class EntryLikelihood:
    """The likelihood of the known entries of a log.

    Attributes:
        places: (entries,) places of the known entries: event traits first and logarithms last, so that both are slices.
        difference, variance: (entries,) robot minus twin, and its variance if the twin is right.
        logarithmic: the entries that are logarithms.
        unmodelled_share: (entries,) probability that something unmodelled changes an entry, relative to that of others.
    """

    def __init__(self, emulator: Emulator, observed: Observed):
        places = np.flatnonzero(observed.known)
        self.places = places = places[np.argsort(LOGARITHMIC[places] - 1.0 * EVENTS[places], kind="stable")]
        self.difference, self.variance = observed.difference[places], observed.variance[places]
        self.logarithmic = slice(len(places) - int(LOGARITHMIC[places].sum()), None)
        self.unmodelled_share = np.ones(len(places))
        self._engines, self._freedom = observed.engines[places], observed.freedom[places]
        self._usual = np.square(4 * emulator.typical[places])
        self._counted = slice(0, int(EVENTS[places].sum()))
        self._shared: np.ndarray | None = None
        if observed.shared is not None:
            self._shared = self._directions(observed.shared[np.ix_(places, places)])
            self._products = (self._shared[:, None] * self._shared).reshape(-1, len(self.variance))
        events = observed.events
        self._rates, self._rate_variances, self._counts, self._trials = (
            values[places][self._counted] for values in (*usual_rates(emulator), events.counts, events.trials)
        )
        self._log_choose = log_choose(self._trials, self._counts)
        measured = ~EVENTS[places]
        self._weights, self._more_weights = measured * self._freedom / 2, measured * (self._freedom + 1) / 2
        self._constant = float(self._more_weights @ np.log(self._freedom) + self._log_choose.sum())

    def noise(self, scales: np.ndarray) -> np.ndarray:
        """(scales, entries) variance at scales of the spread between engines; of events, the variance of their rate."""
        noise = self.variance + (np.square(scales)[:, None] - 1) * self._engines
        noise[:, self._counted] = self._rate_variances
        return noise

    def fit(self, total: np.ndarray, variance: np.ndarray, affected: np.ndarray | float) -> np.ndarray:
        """Log-likelihood of the entries.

        Args:
            total, variance: (..., entries) sum of the changes of causes (`emulator.addends`), and variance around it.
            affected: (...) share of the entries that something unmodelled changes.
        """
        affected = np.asarray(affected)
        counts = self._counts_of(total[..., self._counted], variance[..., self._counted])
        if not affected.any():
            return self._measured(total, variance) + counts.sum(axis=-1)
        residual, variance, shared = self._residual(total, variance)
        plain = self.student(residual, variance)
        plain[..., self._counted] = counts + self._log_choose
        # Most chains have no unmodelled effect and need no second likelihood.
        chains = np.flatnonzero(affected) if affected.ndim else slice(None)
        usual, spread = plain[chains], variance[chains]
        share = affected[chains][..., None] if affected.ndim else affected
        ratio = self.student(residual[chains], spread + self.outlier(spread))
        # Something unmodelled may show in any number of episodes.
        ratio[..., self._counted] = -np.log1p(self._trials)
        ratio -= usual
        np.exp(np.minimum(ratio, MAX_RATIO, out=ratio), out=ratio)
        plain[chains] = usual + np.log1p(share * self.unmodelled_share * (ratio - 1))
        return plain.sum(axis=-1) + shared

    def without_shared(
        self, residual: np.ndarray, variance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
        """Take the most probable shared errors off (..., entries) residuals.

        Returns:
            The residuals, their variances without the shared errors, and the (...) log-likelihood of these.
        """
        if self._shared is None:
            return residual, variance, 0.0
        count = len(self._shared)
        own = np.maximum(variance - np.square(self._shared).sum(axis=0), MIN_OWN * variance)
        precision = 1 / own
        gram = (precision @ self._products.T).reshape(*precision.shape[:-1], count, count) + np.eye(count)
        errors = np.linalg.solve(gram, ((residual * precision) @ self._shared.T)[..., None])[..., 0]
        volume = np.log(np.diagonal(np.linalg.cholesky(gram), axis1=-2, axis2=-1)).sum(axis=-1)
        return residual - errors @ self._shared, own, -0.5 * np.square(errors).sum(axis=-1) - volume

    def _directions(self, covariance: np.ndarray) -> np.ndarray:
        """(directions, entries) the largest shared errors, in standard deviations of the entries."""
        deviation = np.sqrt(self.variance)
        values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
        largest = np.argsort(-values)[:SHARED]
        return np.sqrt(np.maximum(values[largest], 0.0))[:, None] * vectors[:, largest].T * deviation

    def fit_each(
        self, total: np.ndarray, variance: np.ndarray, changes: np.ndarray, added: np.ndarray, affected: np.ndarray
    ) -> np.ndarray:
        """(chains, ...) `fit` for each of some changes, in each chain.

        Args:
            total, variance: (chains, entries) without the changes.
            changes, added: (..., entries) what the changes add to them.
            affected: (chains,) as in `fit`.
        """
        # Event traits are few: all chains at once. Other entries of one chain just fit into the cache of the processor.
        every, counted = (slice(None), *(None,) * (changes.ndim - 1), self._counted), (..., self._counted)
        logs = self._counts_of(total[every] + changes[counted], variance[every] + added[counted]).sum(axis=-1)
        for chain, share in enumerate(affected):
            both = total[chain] + changes, variance[chain] + added
            logs[chain] = self.fit(*both, share) if share else logs[chain] + self._measured(*both)
        return logs

    def _measured(self, total: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """`fit` without anything unmodelled and without `_counts_of`.

        This is a sum of `student`, as products of logarithms and weights.
        """
        logs, variance, shared = self._residual(total, variance)
        scaled = variance * self._freedom
        np.log(np.add(logs, scaled, out=logs), out=logs)
        np.log(variance, out=scaled)
        return scaled @ self._weights - logs @ self._more_weights + self._constant + shared

    def _residual(self, total: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
        """(..., entries) squared differences between the robot and a sum of changes; the rest as `without_shared`."""
        residual = sum_of(total, self.logarithmic)
        np.subtract(self.difference, residual, out=residual)
        residual, variance, shared = self.without_shared(residual, variance)
        return np.square(residual, out=residual), variance, shared

    def _counts_of(self, total: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """(..., event traits) log-likelihood of their counts, without `log_choose`, from their totals and variances."""
        return log_likelihood(self._counts, self._trials, self._rates + total, variance)

    def explained(self, total: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """(entries,) whether an entry is clear, and some cause explains it while it makes the whole log more probable.

        Args:
            total, variance: (causes, sizes, entries) as in `fit`, for each cause alone; the first size is 0.
        """
        logs = self.fit(total, variance, 0.0)
        residual = np.abs(self.difference - sum_of(total, self.logarithmic))
        close = (residual < CLOSE * np.sqrt(variance)) & (logs > logs[:, :1])[..., None]
        clear = np.abs(self.difference) > CLEAR * np.sqrt(self.variance)
        clear[self._counted] = False
        return clear & close[:, 1:].any(axis=(0, 1))

    def outlier(self, variance: np.ndarray) -> np.ndarray:
        """(..., entries) variance that something unmodelled adds to an entry."""
        return self._usual + OUTLIER**2 * variance

    def student(self, squares: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """(..., entries) log-likelihood of squared differences with these variances."""
        # In place: allocating arrays takes as long as the logarithms.
        tail = squares / (self._freedom * variance)
        np.multiply((self._freedom + 1) / 2, np.log1p(tail, out=tail), out=tail)
        return np.subtract(-0.5 * np.log(variance), tail, out=tail)
