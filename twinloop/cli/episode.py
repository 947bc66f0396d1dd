"""Simulate one episode of a run again, from config, seed and index, and print its drawn values, the measured value of
each check and the duration of each phase."""

import argparse
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_backend, add_config, config_of, count, engine_of
from twinloop.curate.checks import CHECKS
from twinloop.run.reproduce import Reproduced, reproduce

EXAMPLES = """\
examples:
  twinloop episode cell.yaml --attempt 17
  twinloop episode datasets/cell/config.yaml --attempt 17 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("--attempt", type=count(0), required=True, metavar="I", help="index of the episode in its run")
    add_backend(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    config, _ = config_of(args)
    reproduced = reproduce(config, args.attempt, engine=engine_of(args))
    episodes, verdict = reproduced.episodes, reproduced.verdicts.reasons[0]
    drawn = {column: float(episodes.draws.values[column][0]) for column in episodes.draws.varied}
    failure = reproduced.verdicts.failures[0]
    ((instruction, _),) = reproduced.twin.spoken(episodes.draws.values)
    phases = _phases(reproduced)
    measured = {name: float(values[0]) for name, values in reproduced.verdicts.measures.items()}

    console.print(f"episode {args.attempt} of seed {config.rollout.seed}: {instruction}")
    how = f" ({failure})" if failure else ""
    console.print(f"verdict {verdict}{how}, {len(episodes.tape)} frames, {int(episodes.retries[0])} retries\n")
    for column, value in drawn.items():
        console.print(f"  {column:32} {value:.6g}")
    console.print("\n  " + " → ".join(f"{phase['name']} {phase['seconds']:.2f} s" for phase in phases) + "\n")
    table = Table()
    for heading in ("check", "asks", "measured", "limit", "unit"):
        table.add_column(heading)
    limits = config.curate.for_task(reproduced.twin.task)
    for check in CHECKS:
        limit = check.limit(limits)
        style = "" if measured[check.name] <= limit else "red"
        table.add_row(check.name, check.asks, f"{measured[check.name]:.4g}", f"{limit:g}", check.unit, style=style)
    console.print(table)
    return {
        "attempt": args.attempt,
        "seed": config.rollout.seed,
        "config_digest": config.digest,
        "verdict": verdict,
        "success": bool(episodes.success[0]),
        "failure": failure,
        "frames": len(episodes.tape),
        "retries": int(episodes.retries[0]),
        "drawn": drawn,
        "phases": phases,
        "measured": measured,
    }


def _phases(reproduced: Reproduced) -> list[dict[str, Any]]:
    """Return the phases in order, with the duration of each."""
    names = reproduced.twin.task.phase_names
    return [
        {"name": names[int(index)], "seconds": round(len(list(frames)) * reproduced.twin.control_period_s, 3)}
        for index, frames in groupby(reproduced.episodes["phase"][:, 0])
    ]
