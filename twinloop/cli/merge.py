"""Join datasets of one schema into a new one. The inputs are not changed."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import location
from twinloop.dataset import merge

EXAMPLES = """\
examples:
  twinloop merge datasets/monday datasets/tuesday --out datasets/both
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="+", type=location, metavar="DATASET", help="two or more dataset folders")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the new dataset")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    digest = merge(args.out, args.datasets)
    console.print(f"merged {len(args.datasets)} datasets into {args.out}, digest {digest}")
    return {"path": str(args.out), "digest": digest, "inputs": [str(path) for path in args.datasets]}
