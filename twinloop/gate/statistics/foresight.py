"""What the twin foretells of reality: a policy's real success from its success in the twin, with a band; and whether
such bands have held."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy

from twinloop.gate.statistics.agreement import Counted
from twinloop.gate.statistics.bets import ANYWHERE

LEAST_POLICIES = 3
SMALLEST_SPREAD = 0.02
"""Standard deviation. Pairs that lie on a line by chance do not make a twin that knows everything."""


@dataclass(frozen=True)
class PredictionInterval:
    """The real success to expect, and where it should lie with this confidence. Without enough policies: anywhere.

    beyond: the twin's rate is outside those of the policies it is foretold from.
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def foretell(
    at: float, sim: Sequence[Counted], real: Sequence[Counted], *, confidence: float = 0.9
) -> PredictionInterval:
    """For a policy that succeeds in the twin at the rate `at`, from others tried on both sides: a straight line through
    them, and Student's band for one more point beside it. Beyond the policies that were tried nobody knows that the
    line goes on: there the band also holds all that it holds at the last of them."""
    if not 0 <= at <= 1:
        raise ValueError(f"a rate of {at} in the twin was given, one from 0 to 1 was expected")
    many = len(sim)
    if many < LEAST_POLICIES:
        return PredictionInterval(at, None, 0.0, 1.0, confidence, many)
    x, y = (np.array([each.rate for each in side]) for side in (sim, real))
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread if spread > 1e-12 else 0.0
    left = y - y.mean() - slope * centred
    free = many - 2
    noise = max(float(left @ left) / free, _counting_noise(real), SMALLEST_SPREAD**2)
    estimate = float(y.mean() + slope * (at - x.mean()))
    nearest = float(np.clip(at, x.min(), x.max()))
    places = np.array([at, nearest])
    apart = (places - x.mean()) ** 2 / spread if spread > 1e-12 else np.zeros(2)
    reach = float(scipy.special.stdtrit(free, 0.5 + confidence / 2)) * np.sqrt(noise * (1 + 1 / many + apart))
    middle = y.mean() + slope * (places - x.mean())
    low, high = float((middle - reach).min()), float((middle + reach).max())
    estimate, low, high = np.clip([estimate, low, high], 0, 1).tolist()
    return PredictionInterval(at, estimate, low, high, confidence, many, beyond=nearest != at)


def _counting_noise(real: Sequence[Counted]) -> float:
    """The variance that counting alone gives a rate, where the trials are known."""
    known = [each.rate * (1 - each.rate) / each.trials for each in real if each.trials]
    return float(np.mean(known)) if known else 0.0


@dataclass(frozen=True)
class PredictionRecord:
    """How often bands held that were made before the real rate was known.

    log_evidence_against: of bets that they hold less often than they say; may be looked at after every prediction.
    """

    made: int
    missed: int
    confidence: float
    log_evidence_against: float

    def failed(self, error: float) -> bool:
        """Shown to hold less often than they say; wrongly so with a chance of at most `error`, over all looks."""
        return self.log_evidence_against >= -np.log(error)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def record(held: Sequence[bool], *, confidence: float) -> PredictionRecord:
    missed = len(held) - int(sum(held))
    evidence = float(ANYWHERE.log_money([0.0, 1.0], [len(held) - missed, missed], 1 - confidence))
    return PredictionRecord(len(held), missed, confidence, evidence)
