"""Measure coverage and width of intervals that combine few real trials with many in the twin, by simulation.

    python benchmarks/prediction_powered.py [--json] [--series 4000]

The real success rate and the twin's success rate differ (the twin's bias), and the outcomes of a pair are correlated.
Each case draws new trials, computes every interval, and counts how often the real rate is inside. Widths are relative
to Clopper-Pearson of the real trials alone, whose coverage is shown beside. The scan tests the default method on many
more cases and reports the worst.
"""

import argparse
import itertools
import json
from typing import Any

import numpy as np
from scipy.special import bdtr

from twinloop.gate.statistics.binomial import clopper_pearson
from twinloop.gate.statistics.prediction_powered import METHODS, combine, strata

TWIN_TRIALS = 2000
TRIALS = (10, 20, 50, 100)
CELLS = ((0.8, 0.8), (0.8, 0.95), (0.9, 0.6))
CORRELATIONS = (0.0, 0.4, 0.6, 0.8)
SCAN_REAL = (0.05, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
SCAN_TWIN = (0.02, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99)
SCAN_CORRELATIONS = (-0.4, 0.0, 0.3, 0.6, 0.9)
FRESH = 400
RESAMPLED = 200
SLOW = 400
"""Number of series for methods that are not vectorised."""


def pair_chances(real: float, twin: float, correlation: float) -> np.ndarray:
    """Probabilities of (both, only real, only twin, neither). The correlation is clipped to what the rates allow."""
    both = real * twin + correlation * np.sqrt(real * (1 - real) * twin * (1 - twin))
    both = min(max(both, real + twin - 1, 0.0), real, twin)
    chances = np.clip([both, real - both, twin - both, 1 - real - twin + both], 0, 1)
    return chances / chances.sum()


def correlation_of(chances: np.ndarray) -> float:
    real, twin = chances[0] + chances[1], chances[0] + chances[2]
    return float((chances[0] - real * twin) / np.sqrt(real * (1 - real) * twin * (1 - twin)))


def default_cell(
    real: float, twin: float, correlation: float, n: int, *, series: int, rng: np.random.Generator
) -> dict[str, Any]:
    chances = pair_chances(real, twin, correlation)
    both, ours, theirs, _ = rng.multinomial(n, chances, size=series).T
    yes = rng.binomial(TWIN_TRIALS, twin, size=series)
    n_yes = both + theirs
    _, low, high = strata(n_yes, both, n - n_yes, ours, yes, TWIN_TRIALS)
    low_alone, high_alone = clopper_pearson(both + ours, n)
    width, alone = float((high - low).mean()), float((high_alone - low_alone).mean())
    return {
        "real": real, "twin": twin, "correlation": round(correlation_of(chances), 3), "trials": n,
        "coverage": float(((low <= real) & (real <= high)).mean()), "low_above": float((low > real).mean()),
        "coverage_alone": float(((low_alone <= real) & (real <= high_alone)).mean()),
        "width": width, "width_ratio": width / alone,
    }  # fmt: skip


def trials_alone(width: float, real: float, least: int) -> float:
    """Real trials, `least` or more, whose interval is as narrow on average; a fraction lies between two numbers."""
    known = []
    for n in range(least, 6 * least):
        hits = np.arange(n + 1)
        low, high = clopper_pearson(hits, n)
        chance = np.diff(np.concatenate([[0.0], bdtr(hits.astype(float), n, real)]))
        known.append(float(chance @ (high - low)))
        if known[-1] <= width:
            break
    return float(np.interp(-width, -np.array(known), least + np.arange(len(known))))


def other_cell(row: dict[str, Any], *, series: int, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    real, twin, n = row["real"], row["twin"], int(row["trials"])
    chances = pair_chances(real, twin, row["correlation"])
    intervals = {name: [] for name in (*METHODS[1:], "betting_alone", "bootstrap")}
    for _ in range(series):
        kind = rng.choice(4, size=n, p=chances)
        truth, paired = (kind < 2).astype(float), (kind % 2 == 0).astype(float)
        many = (rng.random(TWIN_TRIALS) < twin).astype(float)
        for method in METHODS[1:]:
            estimate = combine(truth, paired, many, method=method)
            intervals[method].append((estimate.low, estimate.high))
        alone = combine(truth, np.zeros(n), many, method="betting")
        intervals["betting_alone"].append((alone.low, alone.high))
        intervals["bootstrap"].append(bootstrap(truth, paired, float(many.mean()), rng))
    quality = {}
    for name, ends in intervals.items():
        low, high = np.array(ends).T
        covered = (low <= real + 1e-9) & (real - 1e-9 <= high)
        quality[name] = {"coverage": float(covered.mean()), "width": float((high - low).mean())}
    return quality


def bootstrap(truth: np.ndarray, paired: np.ndarray, usual: float, rng: np.random.Generator) -> tuple[float, float]:
    """Percentiles of PPI++ over resampled pairs."""
    rows = rng.integers(len(truth), size=(RESAMPLED, len(truth)))
    ours, theirs = truth[rows], paired[rows]
    centred = theirs - theirs.mean(axis=1, keepdims=True)
    spread = (centred**2).sum(axis=1)
    weight = np.where(spread > 0, (ours * centred).sum(axis=1) / np.where(spread > 0, spread, 1), 0)
    low, high = np.quantile(ours.mean(axis=1) + weight * (usual - theirs.mean(axis=1)), (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--series", type=int, default=4000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    cells = []
    for (real, twin), correlation, n in itertools.product(CELLS, CORRELATIONS, TRIALS):
        row = default_cell(real, twin, correlation, n, series=5 * args.series, rng=rng)
        cells.append(row | {"fewer_trials": 1 - n / trials_alone(row["width"], real, n)})
        print({name: round(value, 3) for name, value in cells[-1].items()}, flush=True)
    for row in cells:
        if (row["real"], row["twin"]) == CELLS[0] and row["trials"] in (10, 20, 50):
            row["others"] = other_cell(row, series=min(args.series, SLOW), rng=rng)
            print(row, flush=True)
    scan = [
        default_cell(*case, series=5 * args.series, rng=rng)
        for case in itertools.product(SCAN_REAL, SCAN_TWIN, SCAN_CORRELATIONS, TRIALS)
    ]
    series = 5 * args.series
    worst, fresh = summary(scan, series=series), summary(fresh_cells(series=series), series=series)
    print(worst, fresh, sep="\n")
    if args.json:
        results = {"twin_trials": TWIN_TRIALS, "series": args.series, "cells": cells, "scan": worst, "fresh": fresh}
        print(json.dumps(results))


def fresh_cells(*, series: int) -> list[dict[str, Any]]:
    """Held-out cases: the settings of the method were chosen on those of the scan."""
    rng = np.random.default_rng(7)
    return [
        default_cell(
            rng.uniform(0.02, 0.99), rng.uniform(0.02, 0.99), rng.uniform(-0.5, 0.95), int(rng.integers(8, 121)),
            series=series, rng=rng,
        )
        for _ in range(FRESH)
    ]  # fmt: skip


def summary(rows: list[dict[str, Any]], *, series: int) -> dict[str, float]:
    return {
        "cells": len(rows),
        "series": series,
        "least_coverage": min(row["coverage"] for row in rows),
        "median_coverage": float(np.median([row["coverage"] for row in rows])),
        "most_low_above": max(row["low_above"] for row in rows),
        "most_width_ratio": max(row["width_ratio"] for row in rows),
    }


if __name__ == "__main__":
    main()
