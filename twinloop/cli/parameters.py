"""Print the table of everything a config may vary."""

import argparse
from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from twinloop.errors import UsageError, nearest
from twinloop.randomize.parameter import GAPS, GROUPS, Parameter
from twinloop.randomize.table import TABLE

EXAMPLES = """\
examples:
  twinloop parameters
  twinloop parameters --gap contact
  twinloop parameters tracker_noise_mm        # everything about one parameter, with the source of its range
"""

WIDE = 150
"""Width of a terminal, in columns, at which every row fits on one or two lines."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these parameters, with all details")
    parser.add_argument("--gap", choices=GAPS, help="only parameters of this gap")
    parser.add_argument("--group", choices=GROUPS, help="only parameters of this config section")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    names = tuple(row.name for row in TABLE)
    for name in args.names:
        if name not in names:
            raise UsageError(f"{name!r} is not a parameter; {nearest(name, names)}")
    wanted = args.names or names
    rows = [
        row for row in TABLE
        if args.gap in (None, row.gap) and args.group in (None, row.group) and row.name in wanted
    ]  # fmt: skip
    if args.names:
        for row in rows:
            console.print(_details(row))
    else:
        show = _beside if console.width >= WIDE else _below
        for group in dict.fromkeys(row.group for row in rows):
            console.print(f"\n[bold]{group}[/bold]")
            console.print(show([row for row in rows if row.group == group]))
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


def _beside(rows: list[Parameter]) -> Table:
    table = Table(box=None, padding=(0, 2))
    for heading in ("parameter", "gap", "nominal", "sensible", "refused beyond", "touches"):
        table.add_column(heading, no_wrap=heading != "touches")
    for row in rows:
        nominal = _nominal(row)
        table.add_row(row.name, row.gap, nominal, _sensible(row), _range(row.plausible), row.touches)
    return table


def _below(rows: list[Parameter]) -> Group:
    """Format the rows for a narrow terminal, with what each row affects on separate lines."""
    lines = []
    for row in rows:
        numbers = f"{_nominal(row)}, sensible {_sensible(row)}"
        lines += [
            f"  {row.name:27} [dim]{row.gap}[/dim]  {numbers}",
            Padding(f"[dim]{row.touches}[/dim]", (0, 0, 0, 6)),
        ]
    return Group(*lines)


def _details(row: Parameter) -> Table:
    """Everything about one row, one line for each property."""
    table = Table(box=None, show_header=False, padding=(0, 2), title=f"\n[bold]{row.name}[/bold]", title_justify="left")
    lines = {
        "what": row.touches, "key": f"randomization: {row.group}: {row.name}", "gap": row.gap, "nominal": _nominal(row),
        "sensible": _sensible(row), "refused beyond": _range(row.plausible), "source": row.source,
        "elements": ", ".join(row.elements), "values": ", ".join(row.words), "needs": row.needs,
    }  # fmt: skip
    for name, text in lines.items():
        if text:
            table.add_row(f"[dim]{name}[/dim]", Text(text))
    return table


def _nominal(row: Parameter) -> str:
    return f"{row.nominal:g}" if row.unit == "1" else f"{row.nominal:g} {row.unit}"


def _sensible(row: Parameter) -> str:
    return _range(row.sensible) if row.chance is None else f"in {row.chance:.0%} of episodes"


def _range(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g} … {bounds[1]:g}"
