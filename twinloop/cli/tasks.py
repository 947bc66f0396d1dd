"""List the tasks that a config can name: what is in the scene, the skills of the program, and the instruction."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.twin.language import filled
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks

EXAMPLES = """\
examples:
  twinloop tasks
  twinloop tasks --json
  twinloop generate --task stack
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    del args
    known = [tasks()[name] for name in sorted(tasks())]
    table = Table(box=None, padding=(0, 2))
    for heading in ("task", "instruction", "scene"):
        table.add_column(heading, no_wrap=heading == "task")
    for task in known:
        table.add_row(task.name, canonical_instruction(task), ", ".join(entity.name for entity in task.entities))
    console.print(table)
    return {
        "tasks": [
            {
                "name": task.name,
                "instruction": canonical_instruction(task),
                "seen": list(task.language.seen),
                "unseen": list(task.language.unseen),
                "things": {thing.name: thing.object.name for thing in task.things},
                "fixtures": [fixture.name for fixture in task.fixtures],
                "phases": list(task.phase_names),
                "subtasks": list(dict.fromkeys(phase.words for phase in task.phases)),
                "success": [relation.name for relation in task.success],
                "roles": {role.name: list(role.candidates) for role in task.roles},
                "longest_s": task.longest_s,
            }
            for task in known
        ]
    }


def canonical_instruction(task: Task) -> str:
    """The canonical instruction, with the first candidate of each role."""
    words = {thing.name: thing.words for thing in task.things}
    words |= {fixture.name: fixture.words or fixture.name for fixture in task.fixtures}
    words |= {role.name: words[role.candidates[0]] for role in task.roles}
    return filled(task.language.canonical, words)
