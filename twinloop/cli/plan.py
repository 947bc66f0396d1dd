"""Plan what to randomize, calibrate and collect after a diagnosis, in order of gain per hour. Writes a page, and a list
for `twinloop collect --plan`."""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from twinloop.cli.arguments import count
from twinloop.dashboard.plan import write_plan_page
from twinloop.diagnose.plan import Plan, make_plan
from twinloop.diagnose.report import read_report
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop plan diagnoses/first --robot rehearsal:harsh
  twinloop plan diagnoses/first --robot lerobot:arm.yaml --budget 60 --out plans/first --json
  twinloop collect --plan plans/first/requests.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, metavar="REPORT", help="folder that `twinloop diagnose` wrote")
    parser.add_argument("--robot", default="", metavar="NAME", help="robot, as for `twinloop collect`")
    parser.add_argument(
        "--budget",
        type=count(0, 1 << 20),
        default=200,
        metavar="N",
        help="maximum number of demonstrations (default 200)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: the report's)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    _refuse_nothing(args.report)
    plan = make_plan(read_report(args.report), robot=args.robot, budget=args.budget)
    out = args.out or (args.report if args.report.is_dir() else args.report.parent)
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for name, value in (("plan.json", plan.to_json()), ("requests.json", plan.requests())):
            replace_file(out / name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), scratch=out)
    page = write_plan_page(out / "plan.html", plan)
    _print(console, plan)
    console.print(f"\nplan: {page}", markup=False)
    if plan.demonstrations and args.robot:
        console.print(f"Next:\n  twinloop collect --plan {out / 'requests.json'}", markup=False)
    return {"path": str(out), "page": str(page), **plan.to_json(), "requests": plan.requests()}


def _refuse_nothing(report: Path) -> None:
    if report.is_file() or (report / "report.json").is_file():
        return
    problem = "is a folder without a report.json" if report.is_dir() else "does not exist"
    raise UsageError(
        f"{report}: {problem}; the folder of a report was expected. `twinloop diagnose RUNLOGS --twin CONFIG --policy "
        f"CHECKPOINT --out {report}` makes one, and a round of `twinloop loop` has one in round-0/diagnosis"
    )


def _print(console: Console, plan: Plan) -> None:
    console.print(plan.verdict, markup=False)
    if not plan.lines:
        console.print("Nothing to do: no gap costs enough.")
        return
    description = Column("description", overflow="fold")  # paths have no spaces to break at
    table = Table("gap", "measure", description, "gain", "90 %", "hours", box=None, pad_edge=False)
    for line in plan.lines:
        low, high = line.interval
        table.add_row(
            line.gap,
            line.measure,
            line.description,
            f"{line.gain:.1f}",
            f"{low:.0f} to {high:.0f}",
            f"{line.hours:.1f}",
        )
    console.print(table, markup=False)
    console.print(f"Train with {plan.real_share:.0%} real data in every batch.")
