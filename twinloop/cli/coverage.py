"""Show what a dataset covers: unevenness of the draws, thin regions, instructions, duplicates and novel episodes.

Only accepted episodes count: a region in which most attempts were rejected is thin. `generate --fill` makes more
episodes there."""

import argparse
import shlex
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import count, location
from twinloop.cli.progress import Progress, show_progress
from twinloop.dataset.worth import WorthReport, report_json, worth_report

EXAMPLES = """\
examples:
  twinloop coverage datasets/cell
  twinloop coverage datasets/cell datasets/cell-fill       # a dataset together with the one that fills it
  twinloop coverage datasets/cell --no-motion --json       # draws only, without reading frames
  twinloop generate --fill datasets/cell --episodes 500 --out datasets/cell-fill
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "datasets", nargs="+", type=location, metavar="DATASET", help="a dataset of `generate`, and those that fill it"
    )
    parser.add_argument("--no-motion", action="store_true", help="do not look for duplicates, which reads all frames")
    parser.add_argument("--most", type=count(1, 1000), default=8, metavar="N", help="regions to list (default: 8)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    with show_progress(console, "Reading shards") as show:
        report = worth_report(
            args.datasets, motion=not args.no_motion, on_progress=lambda done, total: show(Progress(done, total, ""))
        )
    _print(console, report, args.most)
    if report.thin:
        folders = " ".join(shlex.quote(str(path)) for path in args.datasets)
        console.print(f"\nNext:\n  twinloop generate --fill {folders} --episodes N --out DIR", markup=False)
    return report_json(report, most=args.most)


def _print(console: Console, report: WorthReport, most: int) -> None:
    facts = Table(show_header=False, box=None, pad_edge=False)
    unevenness = report.drawn.unevenness
    facts.add_row("accepted episodes", f"{sum(accepted for accepted, _ in report.instructions.values()):,}")
    if unevenness is not None:
        facts.add_row("unevenness", f"{unevenness:.2f} (1: like independent draws; less is more even)")
    if report.variation is not None:
        facts.add_row("variation over cells", f"{100 * report.variation:.0f} %")
    novelty = report.novelty
    if novelty is not None:
        facts.add_row("duplicates", f"{len(novelty.duplicates):,} pairs, {len(novelty.near_duplicates):,} more nearly")
        facts.add_row("distance to nearest", f"{np.median(novelty.distance):.3g} standard deviations (median)")
        names = ", ".join(str(report.attempts[row]) for row in np.argsort(-novelty.distance)[:5])
        facts.add_row("most novel", f"attempts {names}")
    console.print(facts)
    rare = sorted(report.instructions.items(), key=lambda entry: entry[1][0])[:most]
    if len(report.instructions) > 1:
        console.print(f"{len(report.instructions)} instructions; with fewest accepted episodes:", markup=False)
        for task, (accepted, attempts) in rare:
            console.print(f"  {accepted:6,} of {attempts:,}  {task}", markup=False)
    if not report.thin:
        console.print("No region of the draws is thin.", markup=False)
        return
    table = Table(title=f"{len(report.thin)} thin regions of the draws", title_justify="left")
    for heading in ("region, as quantiles", "attempts", "accepted", "expected"):
        table.add_column(heading, justify="left" if heading.startswith("region") else "right")
    for region in report.thin[:most]:
        box = ", ".join(f"{column} {low:.2f} to {high:.2f}" for column, (low, high) in region.quantiles.items())
        table.add_row(box, f"{region.attempts:,}", f"{region.accepted:,}", f"{region.expected:.1f}")
    console.print(table)
