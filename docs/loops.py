"""Tables of docs/diagnosing.md: results of the loop and of its controls in each cell."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import fisher_exact

CONTROLS = ("diagnose", "real", "wide", "blind")
TARGET, MOST_ROUNDS, MOST_DEMONSTRATIONS = 0.9, 3, 200


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text."""
    cells = results["cells"]
    return {"LOOPS": "\n\n".join(_cell(name, cell) for name, cell in cells.items()), "LOOPS_SUMMARY": _summary(cells)}


def _cell(name: str, cell: Mapping[str, Any]) -> str:
    lines = [
        f"`{name}`, with {_listed(cell['objects'])}:",
        "",
        "| strategy | round | steps | simulated | real demonstrations | in the twin | on the cell | open gaps |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for strategy in CONTROLS:
        row = cell["rows"].get(strategy, {"rounds": ()})
        for round_ in row["rounds"]:
            simulated = "–" if strategy == "real" else f"{row['episodes']:,}"
            lines.append(
                f"| `{strategy}` | {round_['number']} | {round_['steps']:,} | {simulated} | {round_['demonstrations']} "
                f"| {_rate(round_['twin'])} | {_rate(round_['robot'])} | {_listed(round_['open_gaps']) or '–'} |"
            )
        if row.get("again"):
            lines.append(f"| `{strategy}` | the same policy again | – | – | – | – | {_rate(row['again'])} | – |")
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _rate(rate: Mapping[str, Any]) -> str:
    low, high = (100 * rate[end] for end in ("low", "high"))
    return f"{rate['successes']} of {_trials(rate)} ({low:.0f}–{high:.0f} %)"


def _summary(cells: Mapping[str, Any]) -> str:
    """Which strategies reached the goal, and which were not run."""
    sentences = []
    for name, cell in cells.items():
        reached = [strategy for strategy in CONTROLS if _reached(cell["rows"].get(strategy))]
        missed = [strategy for strategy in CONTROLS if strategy in cell["rows"] and strategy not in reached]
        absent = [strategy for strategy in CONTROLS if strategy not in cell["rows"]]
        clauses = [f"the goal was reached by {_words(reached)}" if reached else "no strategy reached the goal"]
        clauses += [f"not by {_words(missed)}"] if reached and missed else []
        clauses += [f"{_words(absent)} {'was' if len(absent) == 1 else 'were'} not run"] if absent else []
        sentences.append(f"On `{name}` {'; '.join(clauses)}.")
        sentences += _compared(cell["rows"])
    if not any("seed=" in name for name in cells):
        sentences.append("No cell of an unseen seed was run yet.")
    return " ".join(sentences)


def _compared(rows: Mapping[str, Any]) -> list[str]:
    """Whether the loop ends better than each control: Fisher's exact test with Holm's correction."""
    if "diagnose" not in rows:
        return []
    ours, p_values = _end(rows["diagnose"]), []
    for strategy in CONTROLS[1:]:
        if strategy in rows:
            table = [_counts(ours), _counts(_end(rows[strategy]))]
            p_values.append((float(np.asarray(fisher_exact(table))[1]), strategy))
    worst, comparisons = 0.0, []
    for place, (p_value, strategy) in enumerate(sorted(p_values)):
        worst = max(worst, min(1.0, p_value * (len(p_values) - place)))
        comparisons.append(f"`{strategy}` p = {worst:.2g}")
    return [f"The end of `diagnose` against that of each control: {', '.join(comparisons)}."] if comparisons else []


def _end(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The confirmation trials of a loop that reached its target."""
    return row.get("again") or row["rounds"][-1]["robot"]


def _counts(rate: Mapping[str, Any]) -> list[int]:
    return [rate["successes"], _trials(rate) - rate["successes"]]


def _trials(rate: Mapping[str, Any]) -> int:
    return rate["trials"] if "trials" in rate else rate["episodes"]


def _reached(row: Mapping[str, Any] | None) -> bool:
    return any(
        round_["robot"]["rate"] is not None
        and round_["robot"]["rate"] >= TARGET
        and round_["number"] <= MOST_ROUNDS
        and round_["demonstrations"] <= MOST_DEMONSTRATIONS
        for round_ in (row or {}).get("rounds", ())
    )


def _words(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(f"`{name}`" for name in names[:-1]), f"`{names[-1]}`")))
