"""Table of docs/learning.md: policies of harder tasks against demonstrations, noise and randomization."""

from typing import Any

Row = dict[str, Any]
RANGES = ("small", "realistic")
COMPARED = {
    "400 demonstrations instead of 25": ("small-noisy-400", "small-noisy-25"),
    "Noise on the expert's commands, at 100 demonstrations": ("small-noisy-100", "small-clean-100"),
    "Noise on the expert's commands, at 25 demonstrations": ("small-noisy-25", "small-clean-25"),
    "Small ranges instead of none": ("small-noisy-100", "none-noisy-100"),
    "Realistic ranges instead of small ones": ("realistic-noisy-100", "small-noisy-100"),
    "`observation.estimate` instead of raw readings": ("realistic-noisy-100-estimate", "realistic-noisy-100"),
}
"""Change -> (arm with it, arm without it)."""


def tables(results: dict[str, Any]) -> dict[str, str]:
    return {
        "STEPS": str(results["steps"]),
        "BATCH": str(results["batch"]),
        "TRIALS": str(results["trials"]),
        "LEARNING_TASKS": _table(results["tasks"]),
        "LEARNING_TASKS_FINDINGS": _findings(results["tasks"]),
    }


def _table(tasks: dict[str, dict[str, Row]]) -> str:
    lines = [
        "| task | demonstrations | trained with | noise | under small ranges | under realistic ranges | failures |",
        "|---" * 7 + "|",
    ]
    for task, arms in sorted(tasks.items()):
        for arm in sorted(arms.values(), key=_order):
            if not any(judged in arm for judged in RANGES):
                continue
            width = arm["width"] + (", estimate" if arm["estimates"] else "")
            rates = " | ".join(_rate(arm.get(judged)) for judged in RANGES)
            noise = "yes" if arm["noise_rad"] else "no"
            lines.append(f"| `{task}` | {arm['demonstrations']} | {width} | {noise} | {rates} | {_failures(arm)} |")
    return "\n".join(lines)


def _order(arm: Row) -> tuple[bool, int, bool, int]:
    return (
        arm["estimates"],
        ("none", "small", "realistic").index(arm["width"]),
        not arm["noise_rad"],
        arm["demonstrations"],
    )


def _rate(cell: Row | None) -> str:
    if cell is None:
        return "–"
    return f"{100 * cell['successes'] / cell['trials']:.0f} % ({100 * cell['low']:.0f}–{100 * cell['high']:.0f})"


def _failures(arm: Row) -> str:
    """The two most common failures under the widest ranges that were measured."""
    cell = arm.get("realistic", arm.get("small"))
    assert cell is not None
    return ", ".join(f"{name} {count}" for name, count in list(cell["failures"].items())[:2])


def _findings(tasks: dict[str, dict[str, Row]]) -> str:
    """For every change: the cells in which the two intervals do not overlap."""
    lines = []
    for change, (changed, usual) in COMPARED.items():
        better, worse, compared = [], [], 0
        for task, arms in sorted(tasks.items()):
            for judged in RANGES:
                one, other = arms.get(changed, {}).get(judged), arms.get(usual, {}).get(judged)
                if one is None or other is None:
                    continue
                compared += 1
                if one["low"] > other["high"]:
                    better.append(f"`{task}` ({judged})")
                elif one["high"] < other["low"]:
                    worse.append(f"`{task}` ({judged})")
        if not compared:
            continue
        parts = [f"{word} in {', '.join(cells)}" for word, cells in (("better", better), ("worse", worse)) if cells]
        seen = "; ".join(parts) or "no difference that the intervals separate"
        lines.append(f"- {change}: {seen}, of {compared} compared.")
    return "\n".join(lines)
