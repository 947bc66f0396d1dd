"""Follow the live policy's runlogs: success, interventions, safety filter and inputs unlike the training data, each
with a sequential change detector. A confirmed drop opens an incident (a file that lists the episodes to inspect) and
rolls back automatically. The same command continues where it stopped."""

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import number
from twinloop.cli.registry import add_registry, existing
from twinloop.dashboard.monitor import write_monitor_page
from twinloop.gate.monitor.act import MonitorResult, look
from twinloop.gate.monitor.drift import TrainingScales, scales_of
from twinloop.gate.rules import load_rules

EXAMPLES = """\
examples:
  twinloop monitor --runlog runs/cell-1
  twinloop monitor --runlog runs/cell-1 --runlog runs/cell-2 --follow
  twinloop monitor --runlog runs/cell-1 --json        # exit code 4 after a rollback, else 0
"""

ROLLED_BACK = 4
EVERY_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runlog", type=Path, action="append", required=True, metavar="DIR", help="a runlog; repeatable"
    )
    parser.add_argument("--follow", action="store_true", help="keep checking until the policy is rolled back or Ctrl-C")
    parser.add_argument(
        "--every", type=number(0.1, 3600), default=EVERY_S, metavar="S", help="seconds between checks (10)"
    )
    parser.add_argument("--rules", type=Path, metavar="FILE", help="rules file (default: the embedded rules)")
    parser.add_argument("--no-drift", action="store_true", help="do not compare inputs with the training data")
    add_registry(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    rules = load_rules(args.rules)
    registry = existing(args)
    checkpoint = registry.production_checkpoint()
    scales = _scales(checkpoint.path, console) if not args.no_drift else None
    seen = -1
    while True:
        result = look(args.registry, args.runlog, rules, scales=scales)
        page = write_monitor_page(result)
        if len(result.episodes) != seen or result.rolled_back:
            seen = len(result.episodes)
            _print(console, result, page)
        if not args.follow or result.rolled_back or result.registry.live != result.live:
            break
        time.sleep(args.every)
    return {
        "checkpoint": result.live.checkpoint,
        "live": result.registry.production or None,
        "episodes": len(result.episodes),
        "signals": [signal.to_json() for signal in result.watched],
        "incidents": [str(path) for path in result.incidents],
        "rolled_back": result.rolled_back.digest if result.rolled_back else None,
        "page": str(page),
        "exit_code": ROLLED_BACK if result.rolled_back else 0,
    }


def _scales(checkpoint: Path, console: Console) -> TrainingScales | None:
    if find_spec("torch") is None:
        console.print("Drift is not monitored: it needs torch (pip install 'twinloop[learn]').")
        return None
    return scales_of(checkpoint)


def _print(console: Console, result: MonitorResult, page: Path) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("live", f"{result.live.checkpoint[:12]} since {result.live.since}")
    for signal in result.watched:
        close = f"{100 * signal.closeness[-1]:.0f} % of the way to an alarm" if len(signal.closeness) else ""
        close = "" if signal.alarm else close
        table.add_row("[red]alarm[/]" if signal.alarm else signal.name, signal.sentence, close)
    for path in result.incidents:
        table.add_row("incident", str(path))
    if result.rolled_back:
        now = result.registry.production
        table.add_row("[red]rolled back[/]", f"{now[:12]} is live" if now else "nothing is live now")
    table.add_row("page", str(page))
    console.print(table)
