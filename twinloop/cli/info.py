"""Print what is inside a dataset."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_dataset
from twinloop.dataset import describe

HELP = "what is inside a dataset"
EXAMPLES = """\
examples:
  twinloop info datasets/pick_and_place
  twinloop info datasets/pick_and_place --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    facts = describe(args.dataset)
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        if isinstance(value, dict):
            for inner, number in value.items():
                table.add_row(f"{name} {inner}", _shown(number))
        elif name == "features":
            for feature in value:
                table.add_row("feature", f"{feature['name']} {feature['dtype']}{tuple(feature['shape'])}")
        else:
            table.add_row(name.replace("_", " "), _shown(value))
    console.print(table)
    return facts


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return " … ".join(map(_shown, value))
    return str(value)
