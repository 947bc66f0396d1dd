"""Tables of docs/statistics.md, from benchmark results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def tables(sequential: Mapping[str, Any], powered: Mapping[str, Any], monitoring: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text."""
    scan, fresh = powered["scan"], powered["fresh"]
    return {
        "SEQUENTIAL_RATES": _rates(sequential["rates"]),
        "SEQUENTIAL_ARMS": _arms(sequential["arms"]),
        "SEQUENTIAL_SAVED": _saved([*sequential["rates"], *sequential["arms"]]),
        "PREDICTION_POWERED": _powered(powered["cells"]),
        "PREDICTION_OTHERS": _others([cell for cell in powered["cells"] if "others" in cell]),
        "PREDICTION_CELLS": f"{scan['cells']:,} cells of {scan['series']:,} series",
        "PREDICTION_LEAST": f"{scan['least_coverage']:.3f}",
        "PREDICTION_ABOVE": f"{scan['most_low_above']:.3f}",
        "PREDICTION_FRESH": f"{fresh['cells']:,} cells drawn at random afterwards it is {fresh['least_coverage']:.3f}",
        "MONITORING_FALSE": _false(monitoring),
        "MONITORING_DELAYS": _delays(monitoring),
        "MONITORING_WINDOW": _window(monitoring),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rates(rows: list[dict[str, float]]) -> str:
    return _table(
        ("null", "target", "fixed test", "mean trials at null", "at target", "far better", "far worse",
         "wrongly accepted at null", "wrongly rejected at target", "peeking at the fixed test"),
        [
            (
                f"{row['null']:g}", f"{row['target']:g}", f"{row['fixed_trials']}", f"{row['trials_at_null']:.1f}",
                f"{row['trials_at_target']:.1f}", f"{row['trials_at_better']:.1f}", f"{row['trials_at_worse']:.1f}",
                f"{row['error']:.3f}", f"{row['rejected_wrongly']:.3f}", f"{row['peeking_error']:.3f}",
            )
            for row in rows
        ],
    )  # fmt: skip


def _arms(rows: list[dict[str, float]]) -> str:
    return _table(
        ("control", "candidate", "fixed test, pairs", "mean pairs if equal", "at the target", "far better", "worse",
         "wrongly accepted", "wrongly rejected"),
        [
            (
                f"{row['control']:g}", f"{row['candidate']:g}", f"{row['fixed_trials']}",
                f"{row['trials_at_null']:.1f}", f"{row['trials_at_target']:.1f}", f"{row['trials_at_better']:.1f}",
                f"{row['trials_at_worse']:.1f}", f"{row['error']:.3f}", f"{row['rejected_wrongly']:.3f}",
            )
            for row in rows
        ],
    )  # fmt: skip


def _saved(rows: list[dict[str, float]]) -> str:
    shares = [row[f"trials_at_{where}"] / row["fixed_trials"] for row in rows for where in ("null", "target")]
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"


def _powered(cells: list[dict[str, Any]]) -> str:
    sizes = sorted({cell["trials"] for cell in cells})
    by_rates: dict[tuple[float, float, float], dict[int, dict[str, Any]]] = {}
    for cell in cells:
        by_rates.setdefault((cell["real"], cell["twin"], cell["correlation"]), {})[cell["trials"]] = cell
    rows = [
        (
            f"{real:g}", f"{twin:g}", f"{correlation:.2f}",
            *(_cell(by[n]) for n in sizes),
        )
        for (real, twin, correlation), by in by_rates.items()
    ]  # fmt: skip
    head = ("real rate", "twin's", "correlation", *(f"{n} trials: coverage, width ratio, fewer" for n in sizes))
    return _table(head, rows)


def _cell(cell: Mapping[str, float]) -> str:
    return f"{cell['coverage']:.3f}, {cell['width_ratio']:.2f}, {100 * cell['fewer_trials']:.0f} %"


def _others(cells: list[dict[str, Any]]) -> str:
    def coverage_width(result: Mapping[str, float]) -> str:
        return f"{result['coverage']:.3f}, {result['width']:.2f}"

    rows = [
        (
            f"{cell['correlation']:.2f}", f"{cell['trials']}", f"{cell['coverage_alone']:.3f}, "
            f"{cell['width'] / cell['width_ratio']:.2f}", coverage_width(cell),
            *(coverage_width(cell["others"][name]) for name in ("normal", "bootstrap", "betting", "betting_alone")),
        )
        for cell in cells
    ]  # fmt: skip
    kinds = ("Clopper-Pearson, no twin", "strata", "normal (PPI++)", "bootstrap", "betting", "betting, no twin")
    return _table(("correlation", "trials", *(f"{kind}: coverage, width" for kind in kinds)), rows)


def _false(monitoring: Mapping[str, Any]) -> str:
    names = ("success", "interventions", "safety", "drift", "any")
    cases = {"all signals exactly at their expected values": "at_promise", "as before promotion": "as_before"}
    rows = [(case, *(f"{100 * monitoring[key][name]:.1f} %" for name in names)) for case, key in cases.items()]
    head = (f"false alarms within {monitoring['horizon']:,} episodes (bound {100 * monitoring['bound']:.0f} %)", *names)
    return _table(head, rows)


def _delays(monitoring: Mapping[str, Any]) -> str:
    expected = monitoring["expected"]
    rows = [_delay("success, 0.95", case["rate"], expected["success"], case) for case in monitoring["success"]]
    for name, cases in monitoring["others"].items():
        rows += [_delay(name, case["mean_after"], expected[name], case) for case in cases]
    return _table(("signal", "expected", "changes to", "median", "90 % within", "not detected in 600"), rows)


def _delay(signal: str, after: float, expected: float, case: Mapping[str, float]) -> tuple[str, ...]:
    def episodes(key: str) -> str:
        return f"{case[key]:.0f}" if case[key] < 600 else "over 600"

    return signal, f"{expected:.3f}", f"{after:g}", episodes("median"), episodes("p90"), f"{100 * case['missed']:.1f} %"


def _window(monitoring: Mapping[str, Any]) -> str:
    ours, window = next(case for case in monitoring["success"] if case["rate"] == 0.7), monitoring["window"]
    false_alarms = f"{100 * monitoring['at_promise']['success']:.1f} %"
    return (
        "For comparison, a test of the last 30 episodes at a level of 1 %, after each episode:\n\n"
        f"- It detects a drop to 0.7 after {window['median_delay']:.0f} episodes instead of {ours['median']:.0f}.\n"
        f"- It raises a false alarm within {monitoring['horizon']:,} episodes in "
        f"{100 * window['false_alarms']:.0f} % of "
        f"series instead of {false_alarms}.\n\n"
        "The monitor detects a rate between the expected value and the measured rate slowly or not at all, because "
        "such a\nrate does not violate the expectation."
    )
