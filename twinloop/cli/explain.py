"""Print the resolved config, what each randomized value touches, and what the run will cost."""

import argparse
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.calibrate.apply_patch import patched, patched_rows
from twinloop.calibrate.patch import FittedDrive, TwinPatch
from twinloop.cli.arguments import add_config, add_patch, config_of, count, patch_of
from twinloop.pipeline.explain import CostEstimate, estimate, in_flight, varied
from twinloop.randomize.distribution import Distribution, Uniform
from twinloop.randomize.servo import PREFIX
from twinloop.randomize.table import BY_NAME
from twinloop.run.randomization import written

EXAMPLES = """\
examples:
  twinloop explain cell.yaml
  twinloop explain cell.yaml --episodes 10000 --no-estimate
  twinloop explain cell.yaml --patch patch.yaml --no-estimate     # which ranges come from a fit
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_patch(parser)
    parser.add_argument("--episodes", type=count(), metavar="N", help="number of episodes to plan for")
    parser.add_argument("--workers", type=count(1, 1024), metavar="N", help="number of workers to plan for")
    parser.add_argument("--no-estimate", action="store_true", help="skip the probe of a few episodes")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    config, _ = config_of(args)
    patch = patch_of(args)
    before, fitted = config.randomization, frozenset()
    if patch is not None:
        plain = config
        config = patched(config, patch, name=str(args.patch), config_name=str(args.config or "the config"))
        fitted = frozenset(patched_rows(plain, patch))
    episodes = args.episodes or config.rollout.episodes
    rows, flight = varied(config), in_flight(config, args.workers)
    expected = None if args.no_estimate else estimate(config, episodes, args.workers)

    console.print("[bold]The config, with every default[/]")
    console.print(config.to_yaml(), markup=False)
    table = Table(title="What varies from episode to episode", title_justify="left", title_style="bold")
    for heading in ("parameter", "distribution", "unit", "gap", "touches"):
        table.add_column(heading, no_wrap=heading != "touches")
    in_drive_table = frozenset() if patch is None or patch.drive is None else fitted - patch.ranges.keys()
    shown = [row for row in rows if row.name not in in_drive_table]
    for row in shown:
        table.add_row(_key(row.name), str(row.distribution), row.unit, row.gap, row.touches)
    if len(shown) < len(rows):
        table.caption = f"and {len(rows) - len(shown)} quantities of the drive, which the patch sets: see below"
    console.print(table if rows else "Nothing varies: episodes differ only by the demonstrator's noise.")
    if patch is not None:
        _print_patch(console, patch, before, fitted)
    limit = config.rollout.parallel_envs
    console.print(f"\nepisodes   {episodes:,}")
    console.print(f"in flight  {flight:,}" + (f" (of at most {limit:,})" if flight < limit else ""))
    if expected:
        _print_estimate(console, expected)
    console.print(f"config     {config.digest}")
    return {
        "config": config.resolved(),
        "config_digest": config.digest,
        "episodes": episodes,
        "in_flight": flight,
        "varied": [asdict(row) for row in rows],
        "patched": sorted(fitted),
        "patch": None if patch is None else patch.digest,
        "estimate": asdict(expected) if expected else None,
    }


def _key(name: str) -> str:
    """The name of a row as a config spells it: `elbow_flex.servo_delay_ms`."""
    row, dot, part = name.partition(".")
    return f"{part}{dot}{row}"


def _print_patch(console: Console, patch: TwinPatch, before: dict[str, Distribution], fitted: frozenset[str]) -> None:
    origin = patch.provenance
    console.print(f"\npatch      {origin.twin}, fitted to {len(origin.logs)} logs by {origin.code}", markup=False)
    console.print(f"           digest {patch.digest}", markup=False)
    if patch.drive is not None:
        _print_drive(console, patch, patch.drive)
    for name in sorted(fitted):
        if name not in patch.ranges:
            continue
        was = written(before[name]) if name in before else "not varied"
        console.print(f"  {name}: {written(Uniform(*patch.ranges[name]))} (without the patch: {was})", markup=False)


def _print_drive(console: Console, patch: TwinPatch, drive: FittedDrive) -> None:
    """Print the nominal value of every quantity of the servos, and its range where it is fitted."""
    table = Table(title=f"Drive of {drive.robot}: {drive.kind}", title_justify="left", title_style="bold")
    for heading in ("joint", "quantity", "nominal", "range", "unit"):
        table.add_column(heading, justify="right" if heading in ("nominal", "range") else "left")
    for joint, values in drive.in_twin.joints.items():
        for name, value in values.items():
            estimate, row = patch.fitted.get(f"{joint}.{name}"), BY_NAME.get(PREFIX + name)
            ends = "" if estimate is None else f"{estimate.low:.4g} to {estimate.high:.4g}"
            if estimate is not None or value != 0:
                table.add_row(joint, name, f"{value:.4g}", ends, "" if row is None else row.unit)
    console.print(table)


def _print_estimate(console: Console, expected: CostEstimate) -> None:
    console.print(f"frames     {expected.frames:,}")
    console.print(f"disk       {expected.disk_bytes / 1e6:,.1f} MB")
    console.print(f"time       {_duration(expected.seconds)} (from a probe on this machine)")
    console.print(f"accepted   {expected.accepted_share:.0%} of the probe's episodes")
    for title, counts in (("rejected", expected.rejected), ("failures", expected.failures)):
        if counts:
            console.print(f"{title}   " + ", ".join(f"{name} {count:,}" for name, count in counts.items()))
    if expected.hint:
        console.print(f"hint       {expected.hint}", markup=False)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
