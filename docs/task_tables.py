"""Tables of docs/tasks.md: the tasks, and the success of the scripted expert with every robot."""

from typing import Any

from twinloop.cli.tasks import canonical_instruction
from twinloop.twin.tasks import tasks

ENOUGH = {"default": 0.9, "realistic": 0.8}
"""Share of accepted episodes that a task is to reach under each ranges."""
JAWS = "likely contact: one jaw is fixed and the other turns, so a thing is held between two wedged faces and slips out"
CAUSES: dict[tuple[str, str], str] = {
    **{
        ("so101", task): JAWS
        for task in ("bin_picking", "handover", "lay_cloth", "sort_by_colour", "sort_by_shape", "stack")
    },
    (
        "so101",
        "clear_table",
    ): "reach: the knob is at the far end of the area, and most failures end while the hand lines up above it",
    ("so101", "hang_on_hook"): "reach: five axes. The hand points along the hook only where the hook faces the base",
    ("so101", "peg_insertion"): f"{JAWS}; it leans in the hole when the arm leans (five axes)",
    ("so101", "place_upright"): "reach: five axes. The bottle can be turned up only in the vertical plane of the arm",
    (
        "so101",
        "plug_in",
    ): "reach: while the hand lines up, the arm leans (five axes), and the plug turns in the wedge of the jaws",
    ("so101", "pour"): f"{JAWS}: most failures lose the cup while it is lifted",
    (
        "so101",
        "put_on_shelf",
    ): "reach: at the board the hand of this arm leans by 40°, so the can is set down tilted and rolls off",
    (
        "so101",
        "wipe",
    ): "contact: the pad slips in the jaws while it rubs over the table; gripping it again takes too long",
    **{
        (
            robot,
            "bin_picking",
        ): "contact: a finger meets a neighbour on the way down, so the product is gripped at its edge and "
        "lost on the way"
        for robot in ("franka_panda", "ur5e_2f85", "xarm7")
    },
    **{
        (
            robot,
            "pour",
        ): "contact: a grain that falls 12 cm into the bowl sinks up to 7 mm into it in a physics step of 4 ms"
        for robot in ("ur5e_2f85", "xarm7")
    },
    **{
        (
            robot,
            "lay_cloth",
        ): "contact: on 12 work episodes with `franka_panda`, a cloth of 0.15 kg or more folded over in its holder, so "
        "that the hand came down up to 8 cm beside it; accepted ones weighed 0.08 and 0.11 kg"
        for robot in ("franka_panda", "xarm7")
    },
}
"""Why cells are below their goal, as far as it was looked into, on other seeds."""


def tables(measured: dict[str, Any], whole: dict[str, Any]) -> dict[str, str]:
    """The parts of the page.

    Args:
        measured: cells of benchmarks/tasks.py.
        whole: results of benchmarks/all_tasks.py; empty if there are none.
    """
    cost = _whole_cost(whole) if whole else _cost(measured)
    return {"TASKS": _tasks(), "SUCCESS": _success(measured), "REASONS": _reasons(measured), "COST": cost}


def _whole_cost(whole: dict[str, Any]) -> str:
    """Time of a run of all tasks with all robots, and the extrapolated time of 10,000 episodes."""
    return (
        f"`twinloop generate --tasks all --robots all --episodes {whole['episodes']}` took {whole['wall_s'] / 60:.1f} "
        f"minutes with {whole['workers']} workers on two cores ({whole['cpu_s']:.0f} s of CPU time, at most "
        f"{whole['peak_mib']:,} MiB of memory in all processes). "
        f"Extrapolated from that, not measured: {whole['wanted']:,} episodes take about "
        f"{whole['extrapolated_minutes']:.0f} minutes (`python benchmarks/all_tasks.py`)."
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
            counts = f"{reasons} ({failures})" if failures else reasons
            cause = CAUSES.get((robot, task), "")
            lines.append(
                f"- `{task}` with `{robot}`, {ranges}: {counts}"
                + (f". {cause[0].upper() + cause[1:]}" if cause else "")
            )
    if not lines:
        return ""
    return (
        "Cells below 90 % (`realistic`: 80 %), with their most common reasons and failures, and the cause if known:\n\n"
        + "\n".join(lines)
    )
