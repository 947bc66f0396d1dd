"""Costs: divides the success that was lost on the robot among the gaps, and what no gap explains.

Every explanation predicts a loss for each of its causes. The lost success is divided in these proportions. If an
explanation predicts more than was lost, its costs are scaled down to it. If it predicts less, the rest is unmodelled,
or it belongs to a gap that costs more than in the twin. That is one gap in each sample, drawn in proportion to the
stress of its causes (`explanations.py`): if every gap that differs got a share, harmless differences would all seem to
cost something. So costs always add up to what was lost, and they are zero if nothing was lost.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.events import EpisodeEvents
from twinloop.diagnose.explanations import Explanations, stress_of
from twinloop.randomize.parameter import GAPS

COLUMNS = (*GAPS, "unmodelled")


@dataclass(frozen=True)
class Costs:
    """Loss of success (a share) of each gap and of what is unmodelled.

    Attributes:
        lost: observed loss: success in the twin minus that on the robot, not below 0.
        mean: (gaps + 1,) costs; they add up to `lost`.
        samples: (samples, gaps + 1) costs with the uncertainty of both success rates.
    """

    lost: float
    mean: np.ndarray
    samples: np.ndarray

    def probability(self, above: float) -> np.ndarray:
        """(gaps + 1,) probability that each costs more than a share of success."""
        return (self.samples > above).mean(axis=0)

    def interval(self, column: int, share: float = 0.9) -> tuple[float, float]:
        low, high = np.quantile(self.samples[:, column], ((1 - share) / 2, (1 + share) / 2))
        return min(float(low), float(self.mean[column])), max(float(high), float(self.mean[column]))


def costs_of(
    explanations: Explanations,
    emulator: Emulator,
    events: EpisodeEvents,
    twin: Rate,
    *,
    seed: int,
    reproduced: float = 1.0,
) -> Costs:
    """Divide the loss between the twin and the robot.

    Args:
        events: of the robot's episodes, and which of them failed.
        twin: success in the unchanged twin.
        reproduced: share of the loss that causes are predicted to cost and that a simulation of them has.
    """
    logs = np.zeros((len(explanations.loss), len(COLUMNS)))
    stress, stresses = np.zeros_like(logs), stress_of(emulator, events)
    robot = Rate(int((~events.failed).sum()), len(events.failed))
    for place, cause in enumerate(emulator.causes):
        share = np.interp(explanations.sizes[:, place], emulator.sizes[place], emulator.success[place])
        logs[:, GAPS.index(cause.gap)] -= np.log(np.maximum(share, 1e-3))
        stress[:, GAPS.index(cause.gap)] += np.interp(
            explanations.sizes[:, place], emulator.sizes[place], stresses[place]
        )
    logs *= reproduced
    logs[:, -1] = -np.log1p(-np.minimum(explanations.loss, 0.999))
    stress[~explanations.extra] = 0.0
    stress[:, -1] = stress.sum(axis=1) == 0
    rng = np.random.default_rng(seed)
    reached = np.cumsum(stress, axis=1) / stress.sum(axis=1, keepdims=True)
    rest = np.eye(len(COLUMNS))[(reached < rng.random((len(stress), 1))).sum(axis=1)]
    total = logs.sum(axis=1)
    parts = logs / np.maximum(total, 1e-12)[:, None]
    predicted = emulator.usual_success * -np.expm1(-total)
    lost = max(twin.value - robot.value, 0.0)
    drawn = [rng.beta(rate.successes + 0.5, rate.trials - rate.successes + 0.5, len(total)) for rate in (twin, robot)]
    samples = _divided(parts, rest, predicted, np.maximum(drawn[0] - drawn[1], 0.0))
    return Costs(lost, _divided(parts, rest, predicted, np.full(len(total), lost)).mean(axis=0), samples)


def _divided(parts: np.ndarray, rest: np.ndarray, predicted: np.ndarray, lost: np.ndarray) -> np.ndarray:
    explained = np.minimum(predicted, lost)
    costs = parts * explained[:, None]
    return costs + rest * (lost - explained)[:, None]
