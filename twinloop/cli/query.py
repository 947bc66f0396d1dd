"""Run SQL (DuckDB) over a dataset: the views are `episodes`, `frames` and `attempts` (rejected ones too)."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_dataset, count
from twinloop.dataset import query
from twinloop.dataset.shard import EPISODES, FRAMES

EXAMPLES = """\
examples:
  twinloop query datasets/cell "select verdict, count(*) from attempts group by verdict"
  twinloop query datasets/cell "select round(\\"draw/friction_coefficient\\", 1) as friction,
                                avg(success::int) as success from attempts group by 1 order by 1"
  twinloop query datasets/cell "select phase, avg(contact[1]) from frames group by 1 order by 1" --json
  twinloop query s3://bucket/run "select count(*) from frames"
"""

READS = (EPISODES, FRAMES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)
    parser.add_argument("sql", metavar="SQL", help="a select statement")
    parser.add_argument("--rows", type=count(), default=50, metavar="N", help="print this many at most (default 50)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    result = query(args.dataset, args.sql)
    rows = result.slice(0, args.rows).to_pylist()
    table = Table()
    for name in result.column_names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    console.print(table)
    if result.num_rows > len(rows):
        console.print(f"{len(rows)} of {result.num_rows:,} rows; --rows N shows more")
    return {"columns": result.column_names, "rows": rows, "total_rows": result.num_rows}


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
