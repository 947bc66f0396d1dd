"""Tables of docs/tasks.md: the tasks, and the success of the scripted expert with every robot."""

from math import degrees
from typing import Any

from twinloop.cli.tasks import canonical_instruction
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.task_checks import unfit
from twinloop.twin.tasks import tasks

ENOUGH = {"default": 0.9, "realistic": 0.8}
"""Share of accepted episodes that a task is to reach under each ranges."""
MARKS = ("", "¹", "²", "³")
"""Marks of the cells of earlier and later seeds."""
LEANS_DEG = 20.0
"""A hand that leans more than this at the end is named as a likely cause."""
QUANTITIES = {
    "friction": ("friction of the gripped things", ""),
    "mass_kg": ("mass of the gripped things", " kg"),
    "grip_force_scale": ("factor on the grip force", ""),
    "hand_lean_deg": ("lean of the hand at the end", "°"),
    "stretch_m": ("largest distance of the tool from the shoulder", " m"),
    "torque_share": ("largest joint torque, as a share of its limit", ""),
}
"""Quantities of `benchmarks/task_causes.py` -> words and unit."""


def tables(measured: dict[str, Any], whole: dict[str, Any]) -> dict[str, str]:
    """The parts of the page.

    Args:
        measured: cells of benchmarks/tasks.py.
        whole: results of benchmarks/all_tasks.py; empty if there are none.
    """
    cost = _whole_cost(whole) if whole else _cost(measured)
    return {
        "TASKS": _tasks(),
        "SUCCESS": _success(measured),
        "SEEDS": _seeds(measured),
        "REASONS": _reasons(measured),
        "COST": cost,
        **{f"NOW {name.rpartition('/')[0]}": f"{cell['accepted']} of {cell['episodes']}"
           for name, cell in measured.items() if name.endswith("/realistic")},
    }  # fmt: skip


def _marks(measured: dict[str, Any]) -> dict[int, str]:
    """Seed -> mark of its cells. The two seeds of a measurement, one for each ranges, share a mark."""
    seeds = sorted({cell["seed"] for cell in measured.values() if "seed" in cell})
    groups = sorted({seed // 10_000 for seed in seeds})
    return {seed: MARKS[groups.index(seed // 10_000)] for seed in seeds}


def _seeds(measured: dict[str, Any]) -> str:
    by_mark: dict[str, list[str]] = {}
    for seed, mark in _marks(measured).items():
        by_mark.setdefault(mark, []).append(str(seed))
    words = [f"those with {mark} {', '.join(seeds)}" for mark, seeds in by_mark.items() if mark]
    return f"The seed of unmarked cells is {' or '.join(by_mark.get('', ['–']))}, " + ", ".join(words) + "."


def _whole_cost(whole: dict[str, Any]) -> str:
    """Time of a run of all tasks with all robots."""
    idle = whole["load"] <= whole["workers"] + 1
    return (
        f"`twinloop generate --tasks all --robots all --episodes {whole['episodes']}` with {whole['workers']} workers "
        f"on two cores takes {whole['cpu_s'] / 60:.0f} minutes of CPU time, so at least "
        f"{whole['cpu_s'] / 120:.0f} minutes. The run that was measured ({whole['accepted']:,} episodes accepted) took "
        f"{whole['minutes']:.0f} minutes"
        + (" on an idle machine" if idle else f" on a machine with other work (mean load {whole['load']:.0f})")
        + (f", in {whole['parts']} parts" if whole["parts"] > 1 else "")
        + f", and at most {whole['peak_mib']:,} MiB of memory in all processes (`python benchmarks/all_tasks.py`)."
    )


def _cost(measured: dict[str, Any]) -> str:
    """CPU time of an episode under the default ranges, and of 10,000 episodes on two cores."""
    costs_ms = [cell["cpu_ms"] for name, cell in measured.items() if name.endswith("/default") and "cpu_ms" in cell]
    mean_ms = sum(costs_ms) / max(len(costs_ms), 1)
    return (
        f"The expert's physics costs {mean_ms:.0f} ms of CPU time an episode in the mean of all cells under the small "
        f"ranges, so 10,000 episodes of `twinloop generate --tasks all --robots all` are about "
        f"{10_000 * mean_ms / 1000 / 2 / 60:.0f} minutes on two idle cores, plus start-up and writing. "
        "`python benchmarks/all_tasks.py` measures the whole command."
    )


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
    robots_measured = sorted({name.split("/")[0] for name in measured})
    heads = " | ".join(f"`{robot}`" for robot in robots_measured)
    lines = [f"| task | {heads} |", "|---" * (len(robots_measured) + 1) + "|"]
    for task in sorted({name.split("/")[1] for name in measured}):
        row = [_cell(measured, robot, task) for robot in robots_measured]
        lines.append(f"| `{task}` | {' | '.join(row)} |")
    return "\n".join(lines)


def _cell(measured: dict[str, Any], robot: str, task: str) -> str:
    reason = unfit(tasks()[task], robots()[robot])
    if reason:
        # The rest of the message is what to do.
        return f"not possible: {reason.partition('. ')[0]}"
    marks = _marks(measured)
    return "<br>".join(_rate(measured.get(f"{robot}/{task}/{ranges}"), marks) for ranges in ENOUGH)


def _rate(cell: dict[str, Any] | None, marks: dict[int, str]) -> str:
    if cell is None:
        return "–"
    low, high = round(100 * cell["low"]), round(100 * cell["high"])
    return f"{100 * cell['accepted'] / cell['episodes']:.0f} % ({low}–{high}){marks[cell['seed']]}"


def _reasons(measured: dict[str, Any]) -> str:
    """Cells below their goal, with the most common reasons and what sets rejected episodes apart."""
    lines: list[str] = []
    for name, cell in measured.items():
        robot, task, ranges = name.split("/")
        if cell["accepted"] < ENOUGH[ranges] * cell["episodes"]:
            reasons = ", ".join(f"{reason} {count}" for reason, count in cell["rejected"].items())
            failures = ", ".join(f"{failure} {count}" for failure, count in cell["failures"].items())
            counts = f"{reasons} ({failures})" if failures else reasons
            lines.append(f"- `{task}` with `{robot}`, {ranges}: {counts}. {_cause(cell)}".rstrip())
    limits = "".join(f"\n\n{_limits(robot)}" for robot in robots().values() if robot.is_short)
    if not lines:
        return f"All {len(measured)} cells reach 90 % (`realistic`: 80 %).{limits}"
    return (
        "Cells below 90 % (`realistic`: 80 %), with their most common reasons and failures, the phase in which most "
        "rejected episodes end, and the physical quantities that set them apart from accepted ones (medians):\n\n"
        + "\n".join(lines)
        + limits
    )


def _limits(robot: Robot) -> str:
    """The physical limits of a small robot, which are behind its cells."""
    assert robot.area is not None
    jaws = f"its jaws hold things up to {1000 * robot.widest_grip_m:.0f} mm" if robot.widest_grip_m else ""
    area, axes = robot.area, len(robot.arm_joints)
    return (
        f"Limits of `{robot.name}`: {axes} axes, so the hand turns up only in the vertical plane of the arm and leans "
        f"back by at most {degrees(area.lean_rad):.0f}°; it works {area.nearest_m:g} to {area.farthest_m:g} m from its "
        f"first joint; {jaws}; its joints have {max(robot.torque_limits_nm):g} N·m."
    )


def _cause(cell: dict[str, Any]) -> str:
    cause = cell.get("cause", {})
    rejected = cell["episodes"] - cell["accepted"]
    sentences = []
    if cause.get("phase"):
        sentences.append(f"{cause['ended_there']} of {rejected} end in `{cause['phase']}`.")
    for name, medians in cause.get("quantities", {}).items():
        words, unit = QUANTITIES[name]
        sentences.append(
            f"{words[0].upper()}{words[1:]}: {medians['rejected']:g}{unit}, accepted {medians['accepted']:g}{unit}."
        )
    leans = cause.get("hand_lean_deg", 0.0)
    if leans > LEANS_DEG and "hand_lean_deg" not in cause["quantities"]:
        sentences.append(f"The hand leans by {leans:.0f}° at the end.")
    return " ".join(sentences)
