"""Run the quality checks on any dataset: a verdict for every episode, with measured values and rows.
Writes quality.json and quality.html into the dataset folder and changes nothing else."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_dataset
from twinloop.cli.progress import Progress, show_progress
from twinloop.curate.quality import Quality
from twinloop.dashboard.formatting import number
from twinloop.dashboard.quality import write_quality_page
from twinloop.dataset import Dataset
from twinloop.dataset.ingest import load_mapping
from twinloop.dataset.review import review, to_json, units_of, write_quality
from twinloop.durable import storage_errors

EXAMPLES = """\
examples:
  twinloop quality datasets/so101_cups
  twinloop quality datasets/so101_cups --limits limits.yaml --json
"""

MOST_LINES = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)
    parser.add_argument("--limits", type=Path, metavar="FILE", help="a mapping file with a `limits` section")
    parser.add_argument("--no-pictures", action="store_true", help="do not decode images (faster)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    dataset = Dataset.open(args.dataset)
    limits = {**_robot_limits(dataset), **(load_mapping(args.limits).limits if args.limits else {})}
    with show_progress(console, f"checking {dataset.header.name}") as show:
        qualities = review(
            dataset, limits=limits, pictures=not args.no_pictures,
            on_episode=lambda done: show(Progress(done, dataset.stored, "")),
        )  # fmt: skip
    written = write_papers(dataset.path, dataset.header.name, qualities)
    print_qualities(console, qualities)
    rejected = sum(bool(quality.errors) for quality in qualities)
    console.print(f"\n{len(qualities):,} episodes, {rejected:,} with an error; see {written}", markup=False)
    return {"path": str(args.dataset), "page": str(written), **to_json(dataset.header.name, qualities)}


def write_papers(folder: Path, name: str, qualities: tuple[Quality, ...]) -> Path:
    with storage_errors(folder):
        write_quality(folder, name, qualities, scratch=folder)
    return write_quality_page(folder, name, qualities)


def print_qualities(console: Console, qualities: Sequence[Quality]) -> None:
    """Print errors, then notes: one line for each check and channel, with the number of episodes."""
    errors = [(checked, finding) for checked in qualities for finding in checked.errors]
    if errors:
        table = Table(box=None, pad_edge=False)
        for column in ("attempt", "check", "channel", "rows", "measured", "limit", "what it means"):
            table.add_column(column)
        for quality, finding in errors[:MOST_LINES]:
            table.add_row(
                f"{quality.attempt} ({quality.label})", finding.check, finding.channel or "episode",
                f"{finding.first}–{finding.last}",
                f"{number(finding.measured)} {finding.unit}".strip(), number(finding.limit), finding.message,
            )  # fmt: skip
        console.print(table, markup=False)
        if len(errors) > MOST_LINES:
            console.print(f"... and {len(errors) - MOST_LINES:,} more")
    noted: dict[tuple[str, str], list[int]] = {}
    for quality in qualities:
        for finding in quality.findings:
            if finding.severity == "note":
                noted.setdefault((finding.check, finding.channel), []).append(quality.attempt)
    for (check, channel), attempts in sorted(noted.items()):
        console.print(f"note: {check}: {channel or 'episode'}, in {len(attempts):,} episodes", markup=False)


def _robot_limits(dataset: Dataset) -> dict[str, tuple[float, float]]:
    """Return the joint limits in rad from the robot's model; empty if the robot is unknown or its unit is not rad."""
    from twinloop.twin.robot_limits import robot_limits

    state = next((column for column in dataset.header.columns if column.name == "observation.state"), None)
    return {} if state is None else robot_limits(dataset.header.robot, state.names, units_of(state))
