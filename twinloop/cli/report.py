"""Write a dataset's report.html again, also while the dataset is still being generated."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_dataset
from twinloop.dashboard.report import write_report

EXAMPLES = """\
examples:
  twinloop report datasets/pick_and_place
  twinloop report datasets/pick_and_place --interactive
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)
    parser.add_argument(
        "--interactive",
        action="store_true",
        help="charts with tooltips that appear at once; the page is 0.9 MB larger and still needs no network",
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    path = write_report(args.dataset, interactive=args.interactive)
    console.print(f"wrote {path}")
    return {"report": str(path)}
