"""Propose the share of simulated data in a training, from small proxy trainings.

For several shares, small policies are trained on simulated data and on a part of the real episodes, and their loss is
measured on the other real episodes. With --twin, they are also rolled out in a twin of the target cell. Writes a page
with the curves."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import count, location
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.training import KINDS, need_torch, use_threads
from twinloop.errors import UsageError

if TYPE_CHECKING:
    from twinloop.learn.mix_curve import MixCurve, SuccessAt

EXAMPLES = """\
examples:
  twinloop mix datasets/sim runlogs/demonstrations --out mix
  twinloop mix datasets/sim datasets/real --shares 0,0.5,0.8,0.95,1 --folds 5 --out mix
  twinloop mix datasets/sim datasets/real --twin target.yaml --episodes 50 --out mix     # and success in a twin
  twinloop train datasets/sim datasets/real --mix sim=0.75,real=0.25 --out policies/mixed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sim", type=location, metavar="SIM", help="a simulated dataset")
    parser.add_argument("real", nargs="+", type=location, metavar="REAL", help="runlogs or datasets of real episodes")
    parser.add_argument(
        "--shares", default="0,0.25,0.5,0.75,0.9,1", metavar="S,...",
        help="shares of simulated data to try (default: 0,0.25,0.5,0.75,0.9,1)",
    )  # fmt: skip
    parser.add_argument(
        "--folds", type=count(2, 20), default=3, metavar="N", help="each real episode is held out once (default: 3)"
    )
    parser.add_argument("--policy", choices=KINDS, default="mlp", help="kind of the proxies (default: mlp)")
    parser.add_argument("--steps", type=count(), default=400, metavar="N", help="steps of a proxy (default: 400)")
    parser.add_argument("--sim-episodes", type=count(), metavar="N", help="use the first N simulated episodes")
    parser.add_argument("--twin", type=Path, metavar="FILE", help="config of a twin of the target cell, for success")
    parser.add_argument(
        "--episodes", type=count(), default=50, metavar="N", help="rollouts of each proxy in --twin (default: 50)"
    )
    parser.add_argument("--workers", type=count(1, 100_000), metavar="N", help="processes of the rollouts")
    parser.add_argument("--seed", type=count(0, (1 << 31) - 1), default=0, metavar="N", help="seed (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("mix"), metavar="DIR", help="default: mix")
    parser.add_argument(
        "--threads", type=count(1, 1024), metavar="N", help="number of torch threads (default: one per core)"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    use_threads(args.threads)
    from twinloop.dashboard.mix import write_mix_page
    from twinloop.learn.mix_curve import MixConfig, mix_curve

    config = MixConfig(shares=_shares(args.shares), folds=args.folds, policy=args.policy, most=args.sim_episodes,
                       seed=args.seed)  # fmt: skip
    train = replace(config.train, steps=args.steps, look_every=args.steps)
    settings = config.settings if args.policy == "mlp" else {}
    with show_progress(console, "Proxy trainings") as show:
        curve = mix_curve(
            [args.sim], args.real, args.out, config=replace(config, train=train, settings=settings),
            success_at=_success_at(args) if args.twin is not None else None,
            on_progress=lambda done, total: show(Progress(done, total, "")),
        )  # fmt: skip
    page = write_mix_page(curve, args.out)
    _print(console, curve)
    folders = " ".join(shlex.quote(str(path)) for path in (args.sim, *args.real))
    console.print(f"page  {page}\n\nNext:\n  twinloop train {folders} --mix {curve.mix}", markup=False)
    return curve.to_json() | {"page": str(page)}


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise UsageError(f"--shares {text!r}: numbers from 0 to 1 with commas were expected, e.g. 0,0.5,1") from None


def _success_at(args: argparse.Namespace) -> "SuccessAt":
    from twinloop.gate.evaluate import evaluate, unseen_seed
    from twinloop.run.config import load_config

    config = load_config(args.twin)

    def success_at(candidate):
        evaluation = evaluate(
            candidate, config.with_seed(unseen_seed(candidate)), config_name=args.twin.stem, episodes=args.episodes,
            workers=args.workers,
        )  # fmt: skip
        return evaluation.success

    return success_at


def _print(console: Console, curve: "MixCurve") -> None:
    table = Table(title="Share of simulated data", title_justify="left")
    for heading in ("share", "loss on held-out real episodes", "worse than the best by", "success"):
        table.add_column(heading, justify="right")
    for point in curve.points:
        rate = point.success
        table.add_row(
            f"{point.share:.0%}",
            f"{point.loss:.4f} [{point.low:.4f}, {point.high:.4f}]",
            f"{point.worse:.4f} [{point.worse_low:.4f}, {point.worse_high:.4f}]",
            "–" if rate is None else f"{rate.successes}/{rate.trials} [{rate.interval[0]:.2f}, {rate.interval[1]:.2f}]",
        )
    console.print(table)
    console.print(f"proposed: {curve.mix} (by {curve.by})", markup=False)
