"""Results of the parts of `loop.py`: success against real demonstrations, demonstrations for 90 %, and paired tests."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from twinloop.curate.intervals import wilson
from twinloop.dashboard.vega import Chart

STRATEGIES = ("diagnose", "adr", "blind", "real", "wide")
BUDGETS = (0, 10, 25, 50, 100)
TARGET = 0.9
NEVER = 200.0
"""Stands for "more than 100": the next number of a schedule that doubles."""
RESAMPLES = 2000
Outcomes = Mapping[str, bool]
Unit = tuple[str, int]  # cell and seed


class Curve:
    """One part: the outcomes of a strategy in a cell with a seed, by budget.

    Attributes:
        at: budget -> scene -> success. A strategy that ended with a smaller budget has the second test at the largest.
        needed: the first budget that reached the target; `NEVER` if none did.
    """

    def __init__(self, part: Mapping[str, Any]):
        self.at: dict[int, Outcomes] = {row["budget"]: row["trials"] for row in part["rounds"]}
        self.needed = next((float(b) for b, trials in self.at.items() if _rate(trials) >= TARGET), NEVER)
        self.last = max(self.at)
        if part["again"]:
            self.at[BUDGETS[-1]] = part["again"]

    def outcomes(self, budget: int) -> Outcomes | None:
        """Outcomes with this budget. Between its end and the largest budget, those of its second test count."""
        if budget in self.at:
            return self.at[budget]
        return self.at[BUDGETS[-1]] if budget > self.last else None


def _rate(outcomes: Outcomes) -> float:
    return sum(outcomes.values()) / len(outcomes)


def read_parts(folder: Path) -> dict[Unit, dict[str, Curve]]:
    """The strategies that were run in each cell and seed."""
    units: dict[Unit, dict[str, Curve]] = defaultdict(dict)
    for file in sorted(folder.glob("*.json")):
        part = json.loads(file.read_text())
        if "rounds" in part:
            units[part["cell"], part["seed"]][part["strategy"]] = Curve(part)
    return dict(units)


def with_all(units: Mapping[Unit, Mapping[str, Curve]], strategies: Iterable[str]) -> dict[Unit, Mapping[str, Curve]]:
    """The units in which all these strategies were run."""
    wanted = set(strategies)
    return {unit: curves for unit, curves in units.items() if wanted <= set(curves)}


def mean_curve(units: Mapping[Unit, Mapping[str, Curve]], strategy: str) -> dict[int, dict[str, Any]]:
    """Budget -> successes, trials and 95 % Wilson interval over all units."""
    rows = {}
    for budget in BUDGETS:
        outcomes = [curves[strategy].outcomes(budget) for curves in units.values()]
        good = [trial for one in outcomes if one is not None for trial in one.values()]
        if good:
            low, high = wilson(sum(good), len(good))
            ends = {"low": round(float(low), 3), "high": round(float(high), 3)}
            rows[budget] = {"successes": int(sum(good)), "trials": len(good), **ends}
    return rows


def needed(rates: Mapping[int, float]) -> float:
    """Demonstrations at which a curve crosses the target, interpolated between budgets; `NEVER` if it does not."""
    before: tuple[int, float] | None = None
    for budget, rate in rates.items():
        if rate >= TARGET:
            if before is None:
                return float(budget)
            share = (TARGET - before[1]) / (rate - before[1])
            return before[0] + share * (budget - before[0])
        before = budget, rate
    return NEVER


def needed_interval(units: Mapping[Unit, Mapping[str, Curve]], strategy: str, *, seed: int) -> dict[str, float]:
    """Demonstrations for 90 % of the mean curve, with a 95 % bootstrap interval over units and scenes."""
    rng, names = np.random.default_rng(seed), list(units)
    samples = []
    tables = {
        unit: {
            budget: np.array(list(outcomes.values()), float)
            for budget in BUDGETS
            if (outcomes := units[unit][strategy].outcomes(budget)) is not None
        }
        for unit in names
    }
    for resample in range(RESAMPLES + 1):
        drawn = names if not resample else [names[place] for place in rng.integers(0, len(names), len(names))]
        rates: dict[int, list[float]] = defaultdict(list)
        for unit in drawn:
            for budget, good in tables[unit].items():
                rates[budget].append(float(good.mean() if not resample else rng.choice(good, len(good)).mean()))
        samples.append(needed({budget: float(np.mean(rates[budget])) for budget in sorted(rates)}))
    low, high = np.quantile(samples[1:], (0.025, 0.975))
    return {"needed": round(samples[0], 1), "low": round(float(low), 1), "high": round(float(high), 1)}


def paired(units: Mapping[Unit, Mapping[str, Curve]], other: str, budget: int) -> dict[str, Any]:
    """Sign test over scenes: in how many more of the seeds `diagnose` succeeds than `other` in the same scene."""
    scenes: dict[tuple[str, str], int] = defaultdict(int)
    for (cell, _), curves in units.items():
        ours, theirs = curves["diagnose"].outcomes(budget), curves[other].outcomes(budget)
        if ours is None or theirs is None:
            continue
        for scene in ours.keys() & theirs.keys():
            scenes[cell, scene] += int(ours[scene]) - int(theirs[scene])
    better, worse = (sum(sign * value > 0 for value in scenes.values()) for sign in (1, -1))
    return {"better": better, "worse": worse, "p": _sign_test(better, worse)}


def _sign_test(better: int, worse: int) -> float:
    return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0


def against_best(units: Mapping[Unit, Mapping[str, Curve]]) -> dict[str, Any]:
    """In how many units `diagnose` needs at most half, fewer, or more demonstrations than the best other strategy."""
    half = fewer = more = 0
    rows = {}
    for (cell, seed), curves in units.items():
        needed = {strategy: curve.needed for strategy, curve in curves.items()}
        best = min(needed[strategy] for strategy in STRATEGIES[1:])
        half += needed["diagnose"] < best and needed["diagnose"] <= best / 2
        fewer, more = fewer + (needed["diagnose"] < best), more + (needed["diagnose"] > best)
        rows[f"{cell}, seed {seed}"] = needed
    return {"units": rows, "half": half, "fewer": fewer, "more": more, "p": _sign_test(fewer, more)}


def one_to_one(units: Mapping[Unit, Mapping[str, Curve]], other: str) -> dict[str, Any] | None:
    """`diagnose` against one strategy, in the units in which both were run; None if there are none."""
    shared_units = with_all(units, ("diagnose", other))
    if not shared_units:
        return None
    needed = {f"{cell}, seed {seed}": [curves["diagnose"].needed, curves[other].needed]
              for (cell, seed), curves in shared_units.items()}  # fmt: skip
    fewer, more = (sum(sign * (theirs - ours) > 0 for ours, theirs in needed.values()) for sign in (1, -1))
    half = sum(ours < theirs and ours <= theirs / 2 for ours, theirs in needed.values())
    last = {strategy: mean_curve(shared_units, strategy)[BUDGETS[-1]] for strategy in ("diagnose", other)}
    return {
        "units": len(shared_units), "cells": len({cell for cell, _ in shared_units}), "needed": needed,
        "half": half, "fewer": fewer, "more": more, "p": _sign_test(fewer, more),
        "diagnose": last["diagnose"], "other": last[other],
        "paired": {budget: paired(shared_units, other, budget) for budget in BUDGETS[1:]},
    }  # fmt: skip


def tally(folder: Path, into: Path, images: Path) -> None:
    all_units = read_parts(folder)
    units = with_all(all_units, STRATEGIES)
    comparisons = {other: row for other in STRATEGIES[1:] if (row := one_to_one(all_units, other)) is not None}
    for other, row in comparisons.items():
        print(f"diagnose against {other}: {json.dumps(row)}")
    if not units:
        print(f"{folder}: no cell and seed has all strategies yet")
        if comparisons:
            into.write_text(json.dumps({"units": 0, "one_to_one": comparisons}, indent=1) + "\n")
        return
    result: dict[str, Any] = {
        "units": len(units), "cells": sorted({cell for cell, _ in units}), "one_to_one": comparisons,
        "curves": {strategy: mean_curve(units, strategy) for strategy in STRATEGIES},
        "needed": {strategy: needed_interval(units, strategy, seed=1) for strategy in STRATEGIES},
        "paired": {other: {budget: paired(units, other, budget) for budget in BUDGETS[1:]} for other in STRATEGIES[1:]},
        "against_best": against_best(units),
    }  # fmt: skip
    into.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(units)} units (a cell and a seed) are complete")
    for strategy in STRATEGIES:
        row, need = result["curves"][strategy], result["needed"][strategy]
        cells = "  ".join(f"{budget}: {one['successes']}/{one['trials']}" for budget, one in row.items())
        print(f"{strategy:9} {cells}   needs {need['needed']:g} ({need['low']:g} to {need['high']:g})")
    print(json.dumps(result["against_best"], indent=1))
    print(json.dumps(result["paired"]))
    plot(result["curves"], images / "loop-study.svg")


def plot(curves: Mapping[str, Mapping[int, Mapping[str, Any]]], file: Path) -> None:
    """Success against real demonstrations, with 95 % intervals."""
    rows: list[dict[str, Any]] = [
        {
            "strategy": strategy, "budget": budget, "success": 100 * row["successes"] / row["trials"],
            "low": 100 * row["low"], "high": 100 * row["high"],
        }
        for strategy in STRATEGIES for budget, row in curves[strategy].items()
    ]  # fmt: skip
    scale = {"type": "symlog", "constant": 10}
    axis = {"values": list(BUDGETS)}
    x = {"field": "budget", "type": "quantitative", "title": "real demonstrations", "scale": scale, "axis": axis}
    colour = {"field": "strategy", "type": "nominal", "sort": list(STRATEGIES)}
    y = {"field": "success", "type": "quantitative", "title": "success, %"}
    ends = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    spec = {
        "data": {"values": rows}, "width": 420, "height": 260,
        "layer": [
            {"mark": {"type": "line", "point": True}, "encoding": {"x": x, "y": y, "color": colour}},
            {"mark": {"type": "rule", "opacity": 0.4}, "encoding": {"x": x, **ends, "color": colour}},
        ],
    }  # fmt: skip
    file.write_text(Chart(spec, "Success against real demonstrations, by strategy").svg(standalone=True))
