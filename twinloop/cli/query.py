"""Run a SQL SELECT (DuckDB) over a dataset. Tables: `attempts` (also rejected ones), `episodes` and `frames`."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_dataset, count, number
from twinloop.dataset import QUERY_TIMEOUT_S, query
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
    parser.add_argument("--rows", type=count(), default=50, metavar="N", help="print at most N rows (default: 50)")
    parser.add_argument(
        "--timeout", type=number(0.1, 86_400), default=QUERY_TIMEOUT_S, metavar="SECONDS",
        help=f"stop the query after this time (default: {QUERY_TIMEOUT_S:g})",
    )  # fmt: skip


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    result = query(args.dataset, args.sql, timeout_s=args.timeout)
    rows = result.slice(0, args.rows).to_pylist()
    table = Table()
    for name in result.column_names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)
    if result.num_rows > len(rows):
        console.print(f"{len(rows)} of {result.num_rows:,} rows; --rows N prints more")
    return {"columns": result.column_names, "rows": rows, "total_rows": result.num_rows}


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
