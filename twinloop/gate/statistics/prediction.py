"""Prediction of a policy's real success from its success in the twin, with an interval and its measured coverage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from twinloop.gate.statistics.agreement import Counted
from twinloop.gate.statistics.bets import ANYWHERE

LEAST_POLICIES = 3
SMALLEST_SPREAD = 0.02
"""Smallest standard deviation of the residuals: a few pairs can lie on a line by chance."""


@dataclass(frozen=True)
class PredictionInterval:
    """Predicted real success rate with its interval. With too few policies the interval is 0 to 1.

    Attributes:
        sim: success rate in the twin.
        estimate: predicted real success rate; None with too few policies.
        policies: number of policies that the prediction is fitted to.
        beyond: whether `sim` is outside the rates of those policies (extrapolation).
    """

    sim: float
    estimate: float | None
    low: float
    high: float
    confidence: float
    policies: int
    beyond: bool = False

    def holds(self, real: float) -> bool:
        return self.low <= real <= self.high


def predict_real_rate(
    at: float, sim: Sequence[Counted], real: Sequence[Counted], *, confidence: float = 0.9
) -> PredictionInterval:
    """Predict the real success rate of a policy with success rate `at` in the twin.

    A straight line is fitted to other policies, which were tried in the twin (`sim`) and in reality (`real`). The
    interval is Student's prediction interval for one more point. The line may not continue outside the range of these
    policies. There the interval also includes the interval at the nearest end of the range.
    """
    if not 0 <= at <= 1:
        raise ValueError(f"a rate of {at} in the twin was given, one from 0 to 1 was expected")
    policies = len(sim)
    if policies < LEAST_POLICIES:
        return PredictionInterval(at, None, 0.0, 1.0, confidence, policies)
    x, y = (np.array([counted.rate for counted in side]) for side in (sim, real))
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread if spread > 1e-12 else 0.0
    left = y - y.mean() - slope * centred
    free = policies - 2
    noise = max(float(left @ left) / free, _counting_noise(real), SMALLEST_SPREAD**2)
    estimate = float(y.mean() + slope * (at - x.mean()))
    nearest = float(np.clip(at, x.min(), x.max()))
    places = np.array([at, nearest])
    apart = (places - x.mean()) ** 2 / spread if spread > 1e-12 else np.zeros(2)
    reach = float(scipy.special.stdtrit(free, 0.5 + confidence / 2)) * np.sqrt(noise * (1 + 1 / policies + apart))
    middle = y.mean() + slope * (places - x.mean())
    low, high = float((middle - reach).min()), float((middle + reach).max())
    estimate, low, high = np.clip([estimate, low, high], 0, 1).tolist()
    return PredictionInterval(at, estimate, low, high, confidence, policies, beyond=nearest != at)


def _counting_noise(real: Sequence[Counted]) -> float:
    """Mean binomial variance of the rates whose number of trials is known; 0 if none is."""
    variances = [counted.rate * (1 - counted.rate) / counted.trials for counted in real if counted.trials]
    return float(np.mean(variances)) if variances else 0.0


@dataclass(frozen=True)
class PredictionRecord:
    """Coverage of prediction intervals that were made before the real rate was known.

    Attributes:
        made: number of predictions.
        missed: number of predictions whose interval did not contain the real rate.
        log_evidence_against: log wealth of bets that the coverage is below `confidence`; valid after every prediction.
    """

    made: int
    missed: int
    confidence: float
    log_evidence_against: float

    def failed(self, error: float) -> bool:
        """Whether the coverage is shown to be below `confidence`.

        The probability of a false alarm is at most `error`, over all looks.
        """
        return self.log_evidence_against >= -np.log(error)


def record(held: Sequence[bool], *, confidence: float) -> PredictionRecord:
    missed = len(held) - int(sum(held))
    evidence = float(ANYWHERE.log_wealth([0.0, 1.0], [len(held) - missed, missed], 1 - confidence))
    return PredictionRecord(len(held), missed, confidence, evidence)
