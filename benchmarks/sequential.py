"""Compare sequential tests with fixed-size tests of the same error rates, by simulation.

    python benchmarks/sequential.py [--json] [--series 20000]

Every series is tested after every trial. The fixed-size test is the smallest exact test with the same error rates: the
binomial test for a rate, McNemar's test for pairs. "Peeking" is the error rate of the fixed-size test if somebody tests
after every trial and stops at the first significant p-value.
"""

import argparse
import json

import numpy as np
from scipy.special import bdtr, bdtrc

from twinloop.gate.statistics.binomial import fixed_test
from twinloop.gate.statistics.expectation import expect
from twinloop.gate.statistics.sequential import PairPlan, RatePlan

RATES = ((0.5, 0.7), (0.7, 0.9), (0.8, 0.95), (0.9, 0.98))
ARMS = ((0.7, 0.9), (0.5, 0.7), (0.8, 0.95))
ERROR, MISS = 0.05, 0.1
LONGEST = 10  # in multiples of the fixed size


def of_rates(null: float, target: float, *, series: int) -> dict[str, float]:
    fixed, plan = fixed_test(null=null, target=target, error=ERROR, miss=MISS), RatePlan(null, target, ERROR, MISS)
    better, worse = (1 + target) / 2, null - (target - null)
    outcomes = {
        name: expect(plan, (1 - rate, rate), series=series, most_trials=LONGEST * fixed.trials, seed=place)
        for place, (name, rate) in enumerate((("null", null), ("target", target), ("better", better), ("worse", worse)))
    }
    return {
        "null": null, "target": target, "fixed_trials": fixed.trials, "fixed_error": fixed.error,
        "fixed_power": fixed.power, "peeking_error": peeking(null, fixed.trials, series=series, seed=9),
        **_summary(outcomes),
    }  # fmt: skip


def of_arms(control: float, candidate: float, *, series: int) -> dict[str, float]:
    target = candidate - control
    plan, pairs = PairPlan(0.0, target, ERROR, MISS), fixed_pairs(control, candidate)

    def chances(ours: float, theirs: float) -> tuple[float, float, float]:
        only_ours, only_theirs = ours * (1 - theirs), theirs * (1 - ours)
        return only_theirs, 1 - only_ours - only_theirs, only_ours

    better = (1 + candidate) / 2
    truths = {"null": control, "target": candidate, "better": better, "worse": control - target}
    outcomes = {
        name: expect(plan, chances(rate, control), series=series, most_trials=LONGEST * pairs, seed=place)
        for place, (name, rate) in enumerate(truths.items())
    }
    return {"control": control, "candidate": candidate, "fixed_trials": pairs, **_summary(outcomes)}


def _summary(outcomes: dict) -> dict[str, float]:
    rates = {
        "error": outcomes["null"].accepted, "power": outcomes["target"].accepted,
        "rejected_wrongly": outcomes["target"].rejected,
        "undecided": max(outcome.undecided for outcome in outcomes.values()),
    }  # fmt: skip
    return rates | {f"trials_at_{name}": round(outcome.mean_trials, 1) for name, outcome in outcomes.items()}


def fixed_pairs(control: float, candidate: float) -> int:
    """The smallest number of pairs for which McNemar's exact one-sided test has the power."""
    only_candidate, only_control = candidate * (1 - control), control * (1 - candidate)
    for n in range(5, 2000):
        differing = np.arange(n + 1)
        tails = np.where(differing[None] == 0, 1.0, bdtrc(differing[None] - 1.0, differing[:, None], 0.5))
        enough = (tails <= ERROR) & (differing[None] <= differing[:, None])
        least = np.where(enough.any(axis=1), enough.argmax(axis=1), n + 1)
        chance = np.diff(np.concatenate([[0.0], bdtr(differing.astype(float), n, only_candidate + only_control)]))
        power = np.where(
            least > differing,
            0.0,
            bdtrc(np.maximum(least - 1.0, 0), differing, only_candidate / (only_candidate + only_control)),
        )
        if chance @ power >= 1 - MISS:
            return n
    raise ValueError("more than 2,000 pairs")


def peeking(null: float, trials: int, *, series: int, seed: int) -> float:
    """The share of series under the null hypothesis whose exact p-value was below the error at some trial."""
    hits = np.cumsum(np.random.default_rng(seed).random((series, trials)) < null, axis=1)
    seen = np.arange(1, trials + 1)
    p = np.where(hits == 0, 1.0, bdtrc(np.maximum(hits - 1.0, 0), seen, null))
    return float((p <= ERROR).any(axis=1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--series", type=int, default=20_000)
    args = parser.parse_args()
    rates = [of_rates(*pair, series=args.series) for pair in RATES]
    arms = [of_arms(*pair, series=args.series) for pair in ARMS]
    for row in (*rates, *arms):
        print({name: round(value, 4) for name, value in row.items()})
    if args.json:
        print(json.dumps({"series": args.series, "error": ERROR, "miss": MISS, "rates": rates, "arms": arms}))


if __name__ == "__main__":
    main()
