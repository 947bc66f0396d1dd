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
        ("control", "candidate", "fixed test, pairs", "mean pairs if equal", "as hoped", "far better", "worse",
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
    seen: dict[tuple[float, float, float], dict[int, dict[str, Any]]] = {}
    for cell in cells:
        seen.setdefault((cell["real"], cell["twin"], cell["correlation"]), {})[cell["trials"]] = cell
    rows = [
        (
            f"{real:g}", f"{twin:g}", f"{correlation:.2f}",
            *(_cell(by[n]) for n in sizes),
        )
        for (real, twin, correlation), by in seen.items()
    ]  # fmt: skip
    head = ("real rate", "twin's", "correlation", *(f"{n} trials: coverage, width ratio, fewer" for n in sizes))
    return _table(head, rows)


def _cell(cell: Mapping[str, float]) -> str:
    return f"{cell['coverage']:.3f}, {cell['width_ratio']:.2f}, {100 * cell['fewer_trials']:.0f} %"


def _others(cells: list[dict[str, Any]]) -> str:
    def told(each: Mapping[str, float]) -> str:
        return f"{each['coverage']:.3f}, {each['width']:.2f}"

    rows = [
        (
            f"{cell['correlation']:.2f}", f"{cell['trials']}", f"{cell['coverage_alone']:.3f}, "
            f"{cell['width'] / cell['width_ratio']:.2f}", told(cell),
            *(told(cell["others"][name]) for name in ("normal", "bootstrap", "betting", "betting_alone")),
        )
        for cell in cells
    ]  # fmt: skip
    kinds = ("Clopper-Pearson, no twin", "strata", "normal (PPI++)", "bootstrap", "betting", "betting, no twin")
    return _table(("correlation", "trials", *(f"{kind}: coverage, width" for kind in kinds)), rows)


def _false(found: Mapping[str, Any]) -> str:
    names = ("success", "intervention", "safety", "drift", "any")
    cases = {"everything exactly at its promise": "at_promise", "as it was before promotion": "as_before"}
    rows = [(what, *(f"{100 * found[key][name]:.1f} %" for name in names)) for what, key in cases.items()]
    head = (f"false alarms within {found['horizon']:,} episodes (bound {100 * found['bound']:.0f} %)", *names)
    return _table(head, rows)


def _delays(found: Mapping[str, Any]) -> str:
    promise = found["expected"]
    rows = [_delay("success, 0.95", each["rate"], promise["success"], each) for each in found["success"]]
    for name, cases in found["others"].items():
        rows += [_delay(name, each["mean_after"], promise[name], each) for each in cases]
    return _table(("what", "promised", "falls or rises to", "median", "90 % within", "not noticed in 600"), rows)


def _delay(what: str, after: float, promised: float, each: Mapping[str, float]) -> tuple[str, ...]:
    def episodes(key: str) -> str:
        return f"{each[key]:.0f}" if each[key] < 600 else "over 600"

    return what, f"{promised:.3f}", f"{after:g}", episodes("median"), episodes("p90"), f"{100 * each['missed']:.1f} %"


def _window(found: Mapping[str, Any]) -> str:
    ours, window = next(each for each in found["success"] if each["rate"] == 0.7), found["window"]
    return (
        f"A test of the last 30 episodes at 1 %, after each, notices a fall to 0.7 after {window['median_delay']:.0f}\n"
        f"episodes instead of {ours['median']:.0f}, and raises a false alarm within {found['horizon']:,} episodes in\n"
        f"{100 * window['false_alarms']:.0f} % of series instead of {100 * found['at_promise']['success']:.1f} %. What "
        "lies between the promise and the rate that was counted is\nnot noticed soon, and is not meant to be: it was "
        "not promised."
    )
