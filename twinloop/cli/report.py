"""Write a dataset's report.html anew, also while it is still being generated."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_dataset
from twinloop.dashboard.report import write_report

EXAMPLES = """\
examples:
  twinloop report datasets/pick_and_place
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    path = write_report(args.dataset)
    console.print(f"wrote {path}")
    return {"report": str(path)}
