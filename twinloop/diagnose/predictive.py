"""Predictive check: does the best explanation, simulated, reproduce the log?

The explanation is rolled out in the twin. Replicated logs are drawn from it: as many episodes as the robot has, with
the uncertainty of the sizes and the spread between engines. The robot's log is compared with the explanation in the
same way as each replicate. The p-value is the share of replicates that differ more.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.diagnose.emulator import Emulator
from twinloop.diagnose.explanations import Explanations
from twinloop.diagnose.summary import ENTRIES, OUTCOMES, SUCCESS, summarise

REPLICATES = 200
LARGEST = 5
"""Number of entries, the most different ones, that the distance of a log from its explanation is computed from. An
unmodelled effect changes a few traits, and the others would only hide it."""
STRANGE = 0.1
"""An entry is strange if fewer replicates than this share have any entry that differs as much."""


@dataclass(frozen=True)
class PredictiveCheck:
    """The comparison of a log with its best explanation.

    Attributes:
        p_value: share of replicated logs that differ from the explanation at least as much as the robot's.
        success: success rate of the explanation in the twin.
        success_p_value: probability of as few successes as the robot's, if the explanation is right.
        deviations: (entries,) robot minus explanation, in standard deviations; NaN if unknown.
        strange: (entries,) whether a single entry differs more than chance and engines allow.
    """

    p_value: float
    success: float
    success_p_value: float
    deviations: np.ndarray
    strange: np.ndarray


def check_explanation(
    robot: np.ndarray,
    simulated: np.ndarray,
    best: np.ndarray,
    explanations: Explanations,
    emulator: Emulator,
    engines: np.ndarray,
    *,
    freedom: float,
    seed: int,
) -> PredictiveCheck:
    """Compare a log with its best explanation.

    Args:
        robot, simulated: (episodes, traits) of the log and of the best explanation in the twin.
        best: (C,) sizes of the best explanation.
        engines: (entries,) variance between engines.
        freedom: degrees of freedom of `engines`.
    """
    rng = np.random.default_rng(seed)
    predicted, log = summarise(simulated), summarise(robot)
    centre, _ = emulator.at(best)
    spread, replicas = np.square(emulator.bend * centre), []
    for _ in range(REPLICATES):
        episodes = simulated[rng.integers(len(simulated), size=len(robot))]
        replica = summarise(episodes)
        change, _ = emulator.at(explanations.sizes[rng.integers(len(explanations.sizes))])
        noise = rng.standard_t(freedom, len(engines)) * np.sqrt(engines) + rng.standard_normal(len(engines)) * np.sqrt(
            spread
        )
        difference = replica.values - predicted.values + (change - centre) + noise
        replicas.append(difference / np.sqrt(replica.variances + predicted.variances + engines + spread))
    deviations = (log.values - predicted.values) / np.sqrt(log.variances + predicted.variances + engines + spread)
    sizes = np.abs(np.stack(replicas))
    known = np.isfinite(deviations) & (np.isfinite(sizes).mean(axis=0) > 0.5) & ~OUTCOMES
    own, others = np.abs(deviations[known]), sizes[:, known]
    distance, distances = _distance(own[None], freedom)[0], _distance(others, freedom)
    strange = np.zeros(len(known), bool)
    # Entries that change most in any replicate show how large the largest of all deviations is by chance.
    strange[known] = own > np.nanquantile(np.nanmax(others, axis=1), 1 - STRANGE)
    return PredictiveCheck(
        p_value=float((1 + (distances >= distance).sum()) / (1 + len(distances))),
        success=float(predicted.values[SUCCESS]),
        success_p_value=_success_p_value(robot, simulated, emulator, rng),
        deviations=deviations,
        strange=strange,
    )


def _distance(deviations: np.ndarray, freedom: float) -> np.ndarray:
    """(n,) deviance of the largest of (n, entries) deviations under Student's t distribution."""
    largest = np.sort(np.nan_to_num(deviations), axis=1)[:, -LARGEST:]
    return np.log1p(np.square(largest) / freedom).sum(axis=1)


def _success_p_value(robot: np.ndarray, simulated: np.ndarray, emulator: Emulator, rng: np.random.Generator) -> float:
    column = ENTRIES[SUCCESS].trait
    won, tried = float(simulated[:, column].sum()), len(simulated)
    rate = rng.beta(won + 0.5, tried - won + 0.5, 4000)
    rate = rng.beta(emulator.concentration * rate + 1e-3, emulator.concentration * (1 - rate) + 1e-3)
    return float(np.mean(rng.binomial(len(robot), rate) <= robot[:, column].sum()))
