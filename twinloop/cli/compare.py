"""Two datasets side by side, simulated or real: schema, rates, distributions, tracking error, delay and lag, speeds and
noise, images in a feature space. A table here, a page with charts and the images that differ most, and everything as
JSON. With --explain, rows of the parameter table that explain the difference of the images."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from twinloop.cli.arguments import count
from twinloop.cli.progress import Progress, show_progress
from twinloop.dashboard.comparison import response_text, write_comparison_page
from twinloop.dashboard.formatting import number, percent
from twinloop.dataset import Dataset
from twinloop.diagnose.compare import DatasetComparison, compare_datasets
from twinloop.durable import storage_errors
from twinloop.errors import UsageError
from twinloop.run.config import RunConfig, config_from_text, load_config
from twinloop.signals.picture_features import OnnxFeatures, picture_features

EXAMPLES = """\
examples:
  twinloop compare datasets/sim datasets/real
  twinloop compare datasets/monday datasets/tuesday --out week.html
  twinloop compare datasets/sim datasets/real --hold linear --json
  twinloop compare datasets/sim datasets/real --explain              # which rows of the twin make the images differ
  twinloop compare datasets/monday datasets/tuesday --explain cell.yaml --backbone resnet.onnx
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ours", type=Path, metavar="A", help="dataset folder")
    parser.add_argument("theirs", type=Path, metavar="B", help="dataset folder to compare with")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write (default: comparisons/A-B.html)")
    parser.add_argument(
        "--hold", choices=("held", "linear"), default="held",
        help="commands between rows: held constant by the drive, or linear between samples of a motion (default: held)",
    )  # fmt: skip
    parser.add_argument(
        "--explain", nargs="?", const="", metavar="CONFIG",
        help="explain the images of B by visual rows of this config (default: the config of A)",
    )  # fmt: skip
    parser.add_argument(
        "--backbone", type=Path, metavar="ONNX", help="network for the features of images (default: a fixed bank)"
    )
    parser.add_argument(
        "--seed",
        type=count(0, (1 << 63) - 1),
        default=0,
        metavar="N",
        help="seed of the resampling for intervals (default 0)",
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    extractor = picture_features if args.backbone is None else OnnxFeatures(args.backbone)
    with show_progress(console, "comparing") as show:
        comparison = compare_datasets(
            args.ours, args.theirs, seed=args.seed, hold=args.hold, extractor=extractor, twin=_twin(args),
            on_channel=lambda done, total: show(Progress(done, total, "channels")),
        )  # fmt: skip
    out = args.out or Path("comparisons") / f"{args.ours.name}-{args.theirs.name}.html"
    with storage_errors(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
    page = write_comparison_page(out, comparison)
    _print(console, comparison)
    console.print(f"\npage: {page}", markup=False)
    return {**comparison.to_json(), "page": str(page)}


def _twin(args: argparse.Namespace) -> RunConfig | None:
    """The config whose rows explain images, if it is wanted."""
    if args.explain is None:
        return None
    if args.explain:
        return load_config(args.explain)
    dataset = Dataset.open(args.ours)
    if dataset.header.source != "sim":
        raise UsageError(f"--explain: {args.ours} is not simulated, so it has no config; give one: --explain CONFIG")
    return config_from_text(dataset.config_text(), name=str(args.ours / "config.yaml"), folder=args.ours)


def _print_pictures(console: Console, comparison: DatasetComparison) -> None:
    if not comparison.gaps:
        return
    table = Table(
        "images", "distance (MMD)", "95 % interval", "equal ones show", "p", "most in", box=None, pad_edge=False
    )
    for gap in comparison.gaps:
        most = max(gap.families, key=lambda family: gap.families[family], default="")
        low, high = gap.interval
        table.add_row(
            gap.camera,
            number(gap.mmd),
            f"{number(low)} to {number(high)}",
            number(gap.chance),
            number(gap.p_value),
            most,
        )
    console.print()
    console.print(table, markup=False)
    for explanation in comparison.explanations:
        clear = [row for row in explanation.rows if row.is_clear][:5]
        listed = ", ".join(
            f"{row.column} {number(row.value)} ({number(row.low)} to {number(row.high)}) {row.unit}" for row in clear
        )
        console.print(
            f"{explanation.camera}: rows explain {percent(explanation.explained)} of it: {listed or 'none'}",
            markup=False,
        )


def _print(console: Console, comparison: DatasetComparison) -> None:
    for side in (comparison.ours, comparison.theirs):
        facts = f"{side.source}, {side.robot}, {side.rate_hz:g} Hz declared, {side.measured_hz:.4g} Hz measured"
        console.print(f"{side.name}: {facts}, {side.read:,} episodes read", markup=False)
    table = Table("channel", "apart", "of the span", "p", "remark", box=None, pad_edge=False)
    for channel in comparison.channels:
        apart = f"{number(channel.distance.wasserstein)} {channel.unit}".strip()
        table.add_row(
            channel.channel, apart, percent(channel.distance.share), number(channel.distance.p_value), channel.caution
        )
    console.print(table, markup=False)
    # The names of joints differ at the end only.
    name = Column("follows its command", no_wrap=True)
    driven = Table(name, "error A", "error B", "delay and lag A", "delay and lag B", box=None, pad_edge=False)
    for channel in comparison.channels:
        if channel.tracking is not None and channel.response is not None:
            errors = [number(side.rms) for side in channel.tracking]
            driven.add_row(channel.channel, *errors, *map(response_text, channel.response))
    if driven.row_count:
        console.print()
        console.print(driven, markup=False)
    _print_pictures(console, comparison)
    for name, why in comparison.unmatched.items():
        console.print(f"not compared: {name}: {why}", markup=False)
