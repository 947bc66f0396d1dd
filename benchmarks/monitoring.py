"""Measure the false-alarm rate and the detection delay of the monitor, by simulation.

    python benchmarks/monitoring.py [--json] [--series 2000]

The monitor is the gate's, with its default rules, for a policy with 57 successes in 60 promotion trials. Success,
interventions, safety-filter activity and drift are monitored together. Without a change they are either exactly at
their expected values, the worst case for false alarms, or at the rates before promotion, the usual case. A
delay is the number of episodes from the change to the alarm, for changes after 200 good episodes. The baseline is a
sliding window: an alarm when the exact test of the last 30 episodes gives p < 0.01.
"""

import argparse
import json

import numpy as np
from scipy.special import bdtr

from twinloop.curate.rates import Rate
from twinloop.gate.monitor.watch import monitor_of
from twinloop.gate.rules.config import load_rules
from twinloop.gate.statistics.monitor import FALSE_ALARM_EPISODES, MonitoredSignal

HORIZON = 1000
BEFORE, AFTER = 200, 600
TRIALS = 60
DROPS = (0.9, 0.85, 0.8, 0.7, 0.5, 0.0)
WINDOW, WINDOW_ERROR = 30, 0.01


def watches() -> dict[str, MonitoredSignal]:
    monitor = monitor_of(load_rules(None), promoted_at=Rate(57, TRIALS), drift=True)
    return {watch.name: watch for watch in monitor.watches}


def activity(mean: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Shares of episodes with this mean: most are small, few are large."""
    return rng.beta(2 * mean / (1 - mean), 2, shape)


def alarms(values: np.ndarray, watch: MonitoredSignal, threshold: float) -> np.ndarray:
    """(series,) the first episode, from 1, at which the wealth reaches the threshold; 0 where never. All at once; that
    Monitor does the same, one episode at a time, is tested."""
    bets = watch.bets
    wealth, first = np.zeros((len(values), len(bets.shares))), np.zeros(len(values), int)
    bad, most = (1 - values, 1 - watch.expected) if watch.worse == "lower" else (values, watch.expected)
    for episode in range(values.shape[1]):
        wealth = np.minimum((wealth + 1) * bets.factors(bad[:, episode], most), 1e300)
        first = np.where((first == 0) & (wealth @ bets.weights >= threshold), episode + 1, first)
    return first


def drawn(name: str, mean: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    return activity(mean, shape, rng) if name == "safety" else (rng.random(shape) < mean).astype(float)


def false_alarms(
    means: dict[str, float], watched: dict[str, MonitoredSignal], *, series: int, rng: np.random.Generator
) -> dict:
    threshold = FALSE_ALARM_EPISODES * len(watched)
    first = np.stack([
        alarms(drawn(name, means[name], (series, HORIZON), rng), watch, threshold) for name, watch in watched.items()
    ])  # fmt: skip
    shares = {name: float((row > 0).mean()) for name, row in zip(watched, first, strict=True)}
    return {"any": float((first > 0).any(axis=0).mean()), **shares}


def delays(
    name: str, good: float, bad: float, watch: MonitoredSignal, threshold: float, *, series: int, rng
) -> dict[str, float]:
    values = np.concatenate([drawn(name, good, (series, BEFORE), rng), drawn(name, bad, (series, AFTER), rng)], axis=1)
    first = alarms(values, watch, threshold)
    after = first[(first == 0) | (first > BEFORE)]
    waited = np.where(after == 0, AFTER, after - BEFORE)
    return {
        "mean": float(waited.mean()), "median": float(np.median(waited)), "p90": float(np.quantile(waited, 0.9)),
        "missed": float((after == 0).mean()),
    }  # fmt: skip


def window(good: float, bad: float, expected: float, *, series: int, rng: np.random.Generator) -> dict[str, float]:
    def first(values: np.ndarray) -> np.ndarray:
        total = np.cumsum(values, axis=1)
        hits = total[:, WINDOW - 1 :] - np.concatenate([np.zeros((len(values), 1)), total[:, :-WINDOW]], axis=1)
        low = bdtr(hits, WINDOW, expected) <= WINDOW_ERROR
        return np.where(low.any(axis=1), low.argmax(axis=1) + WINDOW, 0)

    at_promise = first(drawn("success", expected, (series, HORIZON), rng))
    changed = np.concatenate(
        [drawn("success", good, (series, BEFORE), rng), drawn("success", bad, (series, AFTER), rng)], axis=1
    )
    when = first(changed)
    after = when[(when == 0) | (when > BEFORE)]
    return {
        "false_alarms": float((at_promise > 0).mean()),
        "median_delay": float(np.median(np.where(after == 0, AFTER, after - BEFORE))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--series", type=int, default=2000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    watched = watches()
    usual = {"success": 0.95, "interventions": 2 / TRIALS, "safety": 0.01, "drift": 0.02}
    expected = {name: watch.expected for name, watch in watched.items()}
    threshold = FALSE_ALARM_EPISODES * len(watched)
    results = {
        "series": args.series, "horizon": HORIZON, "trials": TRIALS,
        "false_alarm_episodes": FALSE_ALARM_EPISODES, "bound": HORIZON / FALSE_ALARM_EPISODES,
        "expected": {name: round(value, 4) for name, value in expected.items()},
        "at_promise": false_alarms(expected, watched, series=args.series, rng=rng),
        "as_before": false_alarms(usual, watched, series=args.series, rng=rng),
        "success": [
            {"rate": rate} | delays("success", 0.95, rate, watched["success"], threshold, series=args.series, rng=rng)
            for rate in DROPS
        ],
        "others": {
            name: [
                {"mean_after": mean}
                | delays(name, usual[name], mean, watched[name], threshold, series=args.series, rng=rng)
                for mean in means
            ]
            for name, means in (("interventions", (0.2, 0.4)), ("safety", (0.1, 0.2)), ("drift", (0.1, 0.3)))
        },
        "window": window(0.95, 0.7, expected["success"], series=args.series, rng=rng),
    }  # fmt: skip
    for name, value in results.items():
        print(name, value)
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
