"""Tables of docs/diagnosing.md: how often a diagnosis names the open gap."""

from collections.abc import Iterator, Mapping
from typing import Any

from twinloop.randomize.parameter import GAPS

GOALS = {"first": 0.85, "among the first two": 0.95}


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text."""
    rows = results["rows"]
    return {
        "DIAGNOSIS_TALLY": "\n".join(_tally(results["tally"])),
        "DIAGNOSIS_GAPS": "\n".join(_by_gap([row for row in rows if row["kind"] == "single"])),
        "DIAGNOSIS_MISSED": "\n".join(_missed(rows)),
        "diagnosis.seeds": results["seeds"],
        "diagnosis.episodes": str(results["episodes"]),
        "diagnosis.cells": str(len(rows)),
    }


def _tally(tally: Mapping[str, Any]) -> Iterator[str]:
    yield "| | cells | interval | goal |"
    yield "|---|---|---|---|"
    for name, share in tally.items():
        if "hits" in share:
            goal = f"{100 * GOALS[name]:.0f} %" if name in GOALS else "–"
            interval = f"{100 * share['low']:.0f}–{100 * share['high']:.0f} %"
            yield f"| {name} | {share['hits']} of {share['cases']} | {interval} | {goal} |"


def _by_gap(singles: list[dict[str, Any]]) -> Iterator[str]:
    """Rank of the true gap, for each gap and magnitude."""
    sizes = sorted({size for row in singles for size in row["gaps"].values()})
    yield f"| gap | {' | '.join(f'open by {size:g}' for size in sizes)} |"
    yield "|---" * (1 + len(sizes)) + "|"
    for gap in GAPS:
        cells = (", ".join(_place(row, gap) for row in singles if row["gaps"] == {gap: size}) for size in sizes)
        yield f"| `{gap}` | {' | '.join(cell or '–' for cell in cells)} |"


def _place(row: Mapping[str, Any], gap: str) -> str:
    return f"{row['ranked'].index(gap) + 1} ({row['probability'][gap]:.2f})"


def _missed(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Every cell with a wrong diagnosis."""
    yield "Not open and yet said to be (probability 0.5 or more), or open and not said to be:"
    yield ""
    for row in rows:
        more = [gap for gap in row["found"] if gap not in row["gaps"]]
        less = [gap for gap in row["gaps"] if gap not in row["found"]]
        errors = [f"{gap} {row['probability'][gap]:.2f} ({row['points'][gap]:.0f} points)" for gap in more]
        errors += [f"{gap} only {row['probability'][gap]:.2f}" for gap in less]
        if errors:
            true = " and ".join(f"{gap} {size:g}" for gap, size in row["gaps"].items()) or "nothing"
            yield f"- seed {row['seed']}, {true}, success {100 * row['success']:.0f} %: {', '.join(errors)}"
