"""Judge how well success rates in the twin predict real ones: correlation and rank violation with intervals, whether
predictions held, and the predicted real success of another policy.

PAIRS.json: {"real": {task: {policy: rate}}, "sim": {task: {policy: rate}}}, policies in the order they were tried. A
rate is a number from 0 to 1 or, with the trials known, {"rate": r, "trials": n} or {"successes": s, "trials": n}."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import count, number
from twinloop.config.record import write_record
from twinloop.dashboard.formatting import percent
from twinloop.dashboard.trust import agreement_text, write_trust_report
from twinloop.errors import UsageError, nearest
from twinloop.gate.trust import Trust, load_pairs, trust

EXAMPLES = """\
examples:
  twinloop trust pairs.json
  twinloop trust pairs.json --predict 0.85 --task pick       # real success of a policy with 85 % in the twin
  twinloop trust pairs.json --report trust.html
  twinloop trust pairs.json --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pairs", type=Path, metavar="PAIRS.json", help="success rates in twin and reality")
    parser.add_argument(
        "--predict",
        type=number(0, 1),
        metavar="RATE",
        help="success of another policy in the twin, 0 to 1; its real success is predicted",
    )
    parser.add_argument("--task", metavar="NAME", help="judge this task only")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write a page with plots")
    parser.add_argument(
        "--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="seed of the resampling (default: 0)"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    pairs = load_pairs(args.pairs)
    if args.task is not None:
        if args.task not in pairs:
            raise UsageError(f"{args.pairs}: has no task {args.task!r}; {nearest(args.task, pairs)}")
        pairs = {args.task: pairs[args.task]}
    judged = trust(pairs, seed=args.seed)
    _show(console, judged, args.predict)
    result = judged.to_json()
    if args.predict is not None:
        for task in judged.tasks:
            predicted = task.predict(args.predict, confidence=judged.rules.confidence)
            result["tasks"][task.task]["predicted"] = write_record(predicted)
    if args.report is not None:
        result["report"] = str(write_trust_report(judged, args.report, name=args.pairs.name))
        console.print(f"report: {args.report}", markup=False)
    return result


def _show(console: Console, judged: Trust, predict: float | None) -> None:
    rows = [["task", "policies", "correlation", "rank violation", "predictions", "the twin is"]]
    for task in judged.tasks:
        kept = task.record
        tested = f"{kept.made - kept.missed} of {kept.made} held" if kept.made else "none tested"
        rows.append([task.task, str(task.agreement.policies), *agreement_text(task), tested, task.level])
    if predict is not None:
        rows[0].append(f"real, at {percent(predict)} in the twin")
        for row, task in zip(rows[1:], judged.tasks, strict=True):
            band = task.predict(predict, confidence=judged.rules.confidence)
            where = f"{percent(band.low)} to {percent(band.high)}"
            row.append("unknown" if band.estimate is None else f"{percent(band.estimate)} ({where})")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        # Printed without a rich table, which would truncate the names of tasks.
        console.print("  ".join(map(str.ljust, row, widths)).rstrip(), markup=False)
    console.print(f"\nThe twin is {judged.level}:", markup=False)
    for reason in judged.reasons:
        console.print(f"  {reason}", markup=False)
