"""Tables of docs/worth.md: coverage after a fill, value of episodes, share of simulated data, anchoring."""

from collections.abc import Mapping
from typing import Any

ARMS = {
    "bias": "tracker 25 mm off in three of four episodes",
    "peg": "tracker 12 mm off in three of four episodes",
    "region": "objects anywhere; in the target cell in one corner",
}
RUNS = {"first": "first run alone", "filled": "and a fill", "ordinary": "and ordinary episodes"}
NOT_MEASURED = "*Not measured.*"


def tables(fill: Any, value: Any, mix: Any, anchoring: Any) -> dict[str, str]:
    """Placeholder -> text. A result that is missing is said to be."""
    return {
        "FILL": _fill(fill) if fill else NOT_MEASURED,
        "VALUE": _value(value) if value else NOT_MEASURED,
        "MIX": _mix(mix) if mix else NOT_MEASURED,
        "ANCHORING": _anchoring(anchoring) if anchoring else NOT_MEASURED,
    }


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def _rate(rate: Mapping[str, Any]) -> str:
    return f"{rate['successes']} of {rate['trials']} ({100 * rate['low']:.0f}–{100 * rate['high']:.0f} %)"


def _fill(results: Mapping[str, Any]) -> str:
    rows = [
        f"| {title} | {results['episodes'] + (results['more'] if name != 'first' else 0)} "
        f"| {results['mean'][name]['accepted']:.0f} | {100 * results['mean'][name]['variation']:.1f} % "
        f"| {100 * results['mean'][name]['emptiest']:.0f} % |"
        for name, title in RUNS.items()
    ]
    head = "| data | attempts | accepted | variation over cells | emptiest cell, of the mean |"
    return f"{_table(head, rows)}\n\nMeans over {len(results['runs'])} run seeds."


def _value(results: Mapping[str, Any]) -> str:
    rows = []
    for name, arm in results["arms"].items():
        gain, worthy = arm["gain"], arm["worthy"]
        kept = "–" if worthy is None else f"{100 * worthy['all']:.0f} → {100 * worthy['kept']:.0f} %"
        rows.append(
            f"| `{arm['task']}`: {ARMS[name]} | {arm['episodes']} | {kept} | {_rate(arm['rates']['random half'])} "
            f"| {_rate(arm['rates']['best half'])} | {100 * gain['mean']:+.1f} ({100 * gain['low']:.1f} to "
            f"{100 * gain['high']:.1f}) points |"
        )
    head = "| task and data | episodes | right ones: all → kept | random half | best half | gain (95 %) |"
    return _table(head, rows)


def _mix(results: Mapping[str, Any]) -> str:
    rows = []
    for point in results["points"]:
        success = "–" if point["success"] is None else _rate(point["success"])
        mark = " (proposed)" if point["share"] == results["share"] else ""
        rows.append(
            f"| {100 * point['share']:.0f} %{mark} | {point['loss']:.4f} ({point['low']:.4f}–{point['high']:.4f}) "
            f"| {success} |"
        )
    head = "| simulated | loss on held-out real episodes | success in the real cell |"
    return _table(head, rows)


def _anchoring(results: Mapping[str, Any]) -> str:
    rows = [
        f"| `{name}`, discriminator | {row['told']} of {row['of']} | {_number(row['distance'])} "
        f"| {row['holds']} of {row['told']} | {_number(row['width'])} |"
        for name, row in results["rows"].items()
    ]
    delay = results["posterior_delay"]
    rows.append(
        f"| `action_delay_ms`, posterior of `calibrate` | {delay['told']} of {delay['of']} "
        f"| {_number(delay['distance'])} | {delay['holds']} of {delay['told']} | {_number(delay['width'])} |"
    )
    head = "| row and method | determined | distance to the truth | intervals that hold it | width of the interval |"
    note = (
        f"{results['episodes']} real episodes and {results['simulations']} simulations per cell, "
        f"{results['cpu_s']:.0f} s of CPU time. The classifier's AUC was {results['auc_before']:.2f} before and "
        f"{results['auc_after']:.2f} after, on average."
    )
    return f"{_table(head, rows)}\n\n{note}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
