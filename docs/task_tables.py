"""Tables of docs/tasks.md: the tasks, and the success of the scripted expert with every robot."""

from typing import Any

from twinloop.cli.tasks import canonical_instruction
from twinloop.twin.tasks import tasks

ENOUGH = {"default": 0.9, "realistic": 0.8}
"""Share of accepted episodes that a task is to reach under each ranges."""


def tables(measured: dict[str, Any]) -> dict[str, str]:
    return {"TASKS": _tasks(), "SUCCESS": _success(measured), "REASONS": _reasons(measured)}


def _tasks() -> str:
    lines = ["| task | instruction | entities | skills |", "|---|---|---|---|"]
    for name, task in sorted(tasks().items()):
        entities = ", ".join(f"`{entity.name}`" for entity in task.entities)
        skills = ", ".join(dict.fromkeys(phase.name for phase in task.phases))
        lines.append(f"| `{name}` | {canonical_instruction(task)} | {entities} | {skills} |")
    return "\n".join(lines)


def _success(measured: dict[str, Any]) -> str:
    if not measured:
        return "Not measured yet: `python benchmarks/tasks.py`."
    robots = sorted({name.split("/")[0] for name in measured})
    lines = [f"| task | {' | '.join(f'`{robot}`' for robot in robots)} |", "|---" * (len(robots) + 1) + "|"]
    for task in sorted({name.split("/")[1] for name in measured}):
        row = [_cell(measured, robot, task) for robot in robots]
        lines.append(f"| `{task}` | {' | '.join(row)} |")
    return "\n".join(lines)


def _cell(measured: dict[str, Any], robot: str, task: str) -> str:
    return "<br>".join(_rate(measured.get(f"{robot}/{task}/{ranges}")) for ranges in ENOUGH)


def _rate(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "–"
    if "impossible" in cell:
        return "impossible"
    low, high = round(100 * cell["low"]), round(100 * cell["high"])
    return f"{100 * cell['accepted'] / cell['episodes']:.0f} % ({low}–{high})"


def _reasons(measured: dict[str, Any]) -> str:
    """Cells below their goal, and the most common reasons."""
    lines = []
    for name, cell in measured.items():
        robot, task, ranges = name.split("/")
        if "impossible" in cell:
            lines.append(f"- `{task}` with `{robot}`: {cell['impossible']}")
        elif cell["accepted"] < ENOUGH[ranges] * cell["episodes"]:
            reasons = ", ".join(f"{reason} {count}" for reason, count in cell["rejected"].items())
            failures = ", ".join(f"{failure} {count}" for failure, count in cell["failures"].items())
            lines.append(f"- `{task}` with `{robot}`, {ranges}: {reasons}" + (f" ({failures})" if failures else ""))
    if not lines:
        return ""
    return "Cells below 90 % (`realistic`: 80 %), with their most common reasons and failures:\n\n" + "\n".join(lines)
