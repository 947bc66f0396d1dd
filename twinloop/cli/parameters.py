"""Print the table of everything a config may vary."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.randomize.parameter import GAPS, GROUPS, Parameter
from twinloop.randomize.table import TABLE

EXAMPLES = """\
examples:
  twinloop parameters
  twinloop parameters --gap contact
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gap", choices=GAPS, help="only those of one gap")
    parser.add_argument("--group", choices=GROUPS, help="only those of one section of the config")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    rows = [
        row for row in TABLE if args.gap in (None, row.gap) and args.group in (None, row.group)
    ]  # fmt: skip
    table = Table()
    for heading in (
        "parameter",
        "section",
        "gap",
        "unit",
        "nominal",
        "sensible",
        "refused beyond",
        "touches",
    ):
        table.add_column(heading, no_wrap=heading == "parameter")
    for row in rows:
        table.add_row(
            row.name, row.group, row.gap, row.unit, f"{row.nominal:g}", _sensible(row),
            _range(row.plausible), row.touches,
        )  # fmt: skip
    console.print(table)
    return {
        "parameters": [
            {
                "name": row.name, "group": row.group, "gap": row.gap, "unit": row.unit, "nominal": row.nominal,
                "sensible": row.sensible, "chance": row.chance, "plausible": row.plausible, "touches": row.touches,
                "columns": row.columns, "source": row.source, "words": row.words, "realistic": row.realistic,
            }
            for row in rows
        ]
    }  # fmt: skip


def _sensible(row: Parameter) -> str:
    return _range(row.sensible) if row.chance is None else f"in {row.chance:.0%} of episodes"


def _range(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g} … {bounds[1]:g}"
