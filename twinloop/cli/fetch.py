"""Copy a dataset from an object store to a folder, with its LeRobot export and the same digest. The same command
continues after a kill."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import location
from twinloop.cli.progress import Progress, show_progress
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.fetch import fetch, mirror
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop fetch s3://bucket/runs/cell                      # into datasets/cell
  twinloop fetch s3://bucket/runs/cell --out datasets/copy

credentials and endpoint come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL
"""

READS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=location, metavar="ADDRESS", help="as s3://bucket/run")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: datasets/NAME)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    remote = args.dataset
    if not isinstance(remote, Remote):
        raise UsageError(f"{remote}: is a folder; an address such as s3://bucket/run was expected")
    out = args.out or Path("datasets") / remote.name
    with show_progress(console, "fetching") as show:
        digest = fetch(remote, out, on_shard=lambda done, total: show(Progress(done, total, "shards")))
    console.print(f"{out}: digest {digest}")
    return {"path": str(out), "digest": digest, "address": str(remote)}


def brought(remote: Remote, console: Console, only: Sequence[str] | None) -> Path:
    """Copy a dataset to this machine for a command that reads it, and return its folder."""
    with show_progress(console, f"fetching {remote.name}") as show:
        return mirror(remote, only=only, on_shard=lambda done, total: show(Progress(done, total, "shards")))
