"""Print what is inside a dataset."""

import argparse
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_dataset
from twinloop.dataset import describe
from twinloop.dataset.shard import EPISODES

EXAMPLES = """\
examples:
  twinloop info datasets/pick_and_place
  twinloop info datasets/pick_and_place --json
  twinloop info s3://bucket/run
"""

READS = (EPISODES,)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    facts = describe(args.dataset)
    for name, value in _rows(facts):
        console.print(f"{name:12} {value}", markup=False)
    return facts


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    episodes = facts["episodes"]
    yield "dataset", f"{facts['name']} ({facts['source']}, {facts['robot']}, {facts['fps']} Hz)"
    state = "complete" if facts["complete"] else f"unfinished, {episodes['planned']:,} planned"
    yield "episodes", f"{episodes['attempted']:,} attempted, {episodes['accepted']:,} accepted ({state})"
    for reason, number in episodes["rejected"].items():
        yield "", f"{number:,} rejected: {reason}"
    for number, (failure, count) in enumerate(facts["failures"].items()):
        yield "" if number else "failed", f"{count:,} {failure}"
    yield "frames", f"{facts['frames']:,} ({facts['hours']:.2f} h of robot time, {facts['bytes'] / 1e6:,.1f} MB)"
    yield "features", ""
    for feature in facts["features"]:
        shape = "×".join(map(str, feature["shape"]))
        yield "", f"{feature['name']:30} {feature['dtype']:8} {shape:4} {feature['unit']}"
    yield "phases", ", ".join(facts["phases"])
    yield "drawn", "" if facts["draws"] else "nothing varies"
    for name, drawn in facts["draws"].items():
        span = f"{drawn['min']:.4g} … {drawn['max']:.4g}" if "min" in drawn else ", ".join(drawn["values"])
        yield "", f"{name:30} {span}"
    yield "run seed", str(facts["run_seed"])
    yield "made with", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    yield "config", facts["config_digest"]
    yield "digest", facts["digest"]
