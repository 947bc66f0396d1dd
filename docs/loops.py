"""Tables of docs/diagnosing.md: what the study of `benchmarks/loop.py` shows so far."""

from collections.abc import Mapping, Sequence
from typing import Any

STRATEGIES = ("diagnose", "adr", "blind", "real", "wide")
BUDGETS = ("0", "10", "25", "50", "100")
NEVER = 200.0
NOTHING = "No pair of a cell and a seed has all strategies yet."


def tables(results: Mapping[str, Any] | None, plot: str) -> dict[str, str]:
    """Placeholder -> text. plot: name of the picture with the curves."""
    if results is None:
        return {"LOOPS": "", "LOOPS_NEEDED": "", "LOOPS_ONE_TO_ONE": "There are none yet.", "LOOPS_SUMMARY": NOTHING}
    compared = {"LOOPS_ONE_TO_ONE": _one_to_one(results["one_to_one"])}
    if not results["units"]:
        return compared | {"LOOPS": "", "LOOPS_NEEDED": "", "LOOPS_SUMMARY": NOTHING}
    return compared | {
        "LOOPS": _curves(results, plot),
        "LOOPS_NEEDED": _needed(results),
        "LOOPS_SUMMARY": _summary(results),
    }


def _one_to_one(rows: Mapping[str, Any]) -> str:
    lines = [
        "| against | pairs, cells | fewer demonstrations than it | at most half | more | p | `diagnose`, second test "
        "| it, with 100 | scenes better, worse | p |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for other, row in rows.items():
        scenes = row["paired"]["100"]
        lines.append(
            f"| `{other}` | {row['units']}, {row['cells']} | {row['fewer']} | {row['half']} | {row['more']} "
            f"| {row['p']:.2g} | {_rate(row['diagnose'])} | {_rate(row['other'])} "
            f"| {scenes['better']}, {scenes['worse']} | {scenes['p']:.2g} |"
        )
    return "\n".join(lines)


def parts_table(parts: Sequence[Mapping[str, Any]]) -> str:
    """The successes of every part that is complete, by budget."""
    lines = [
        f"| cell, seed | strategy | {' | '.join(BUDGETS)} | second test |",
        f"|---|---|{'---|' * (len(BUDGETS) + 1)}",
    ]
    order = [part for strategy in STRATEGIES for part in parts if part.get("strategy") == strategy]
    for part in sorted(order, key=lambda part: (part["cell"], part["seed"])):
        at = {str(row["budget"]): sum(row["trials"].values()) for row in part["rounds"]}
        again = sum(part["again"].values()) if part["again"] else "–"
        cells = " | ".join(str(at.get(budget, "–")) for budget in BUDGETS)
        lines.append(f"| {part['cell']}, {part['seed']} | `{part['strategy']}` | {cells} | {again} |")
    return "\n".join(lines)


def _curves(results: Mapping[str, Any], plot: str) -> str:
    lines = [
        f"![Success against real demonstrations, by strategy](pictures/{plot})",
        "",
        f"| strategy | {' | '.join(f'{budget} demonstrations' for budget in BUDGETS)} | demonstrations for 90 % |",
        f"|---|{'---|' * (len(BUDGETS) + 1)}",
    ]
    for strategy in STRATEGIES:
        curve, need = results["curves"][strategy], results["needed"][strategy]
        cells = " | ".join(_rate(curve[budget]) if budget in curve else "–" for budget in BUDGETS)
        lines.append(
            f"| `{strategy}` | {cells} | {_many(need['needed'])} ({_many(need['low'])} to {_many(need['high'])}) |"
        )
    return "\n".join(lines)


def _rate(row: Mapping[str, Any]) -> str:
    low, high = 100 * row["low"], 100 * row["high"]
    return f"{row['successes']} of {row['trials']} ({low:.0f}–{high:.0f} %)"


def _needed(results: Mapping[str, Any]) -> str:
    lines = [f"| cell | {' | '.join(f'`{strategy}`' for strategy in STRATEGIES)} |", f"|---|{'---|' * len(STRATEGIES)}"]
    for unit, needed in results["against_best"]["units"].items():
        lines.append(f"| {unit} | {' | '.join(_many(needed[strategy]) for strategy in STRATEGIES)} |")
    return "\n".join(lines)


def _many(demonstrations: float) -> str:
    return "more than 100" if demonstrations >= NEVER else f"{demonstrations:.0f}"


def _summary(results: Mapping[str, Any]) -> str:
    against, units, cells = results["against_best"], results["units"], len(results["cells"])
    last = {other: results["paired"][other]["100"] for other in STRATEGIES[1:]}
    compared = ", ".join(
        f"`{other}` {row['better']} to {row['worse']} (p = {row['p']:.2g})" for other, row in last.items()
    )
    return (
        f"{units} of 12 pairs of a cell and a seed are complete, in {cells} of 6 cells. `diagnose` needed at most half "
        f"of the best other strategy's demonstrations in {against['half']} of {units}, fewer in {against['fewer']} and "
        f"more in {against['more']} (sign test, p = {against['p']:.2g}). Scenes in which it was better or worse "
        f"with 100 demonstrations: {compared}."
    )
