"""Recompute every digest of a dataset and name each file that was changed since it was committed."""

import argparse
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_dataset
from twinloop.dataset import verify

EXAMPLES = """\
examples:
  twinloop verify datasets/pick_and_place
  twinloop verify datasets/pick_and_place --json    # exit code 1 when something is wrong
  twinloop verify s3://bucket/run                   # every object there, fetched and hashed
"""

READS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    report = verify(args.dataset)
    for problem in report.problems:
        console.print(f"[red]wrong[/] {problem.file}: {problem.description}")
    if report.ok:
        state = "complete" if report.complete else "unfinished"
        console.print(f"[green]ok[/] {report.shards} shards, {report.frames:,} frames, {state}, digest {report.digest}")
    return {
        "ok": report.ok,
        "complete": report.complete,
        "shards": report.shards,
        "frames": report.frames,
        "digest": report.digest,
        "problems": [{"file": problem.file, "problem": problem.description} for problem in report.problems],
        "exit_code": 0 if report.ok else 1,
    }
