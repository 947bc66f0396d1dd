"""Continue training a checkpoint on a small amount of real data. With --keep, data of the first training is mixed in,
so that the policy does not forget it."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import comma_separated, number
from twinloop.cli.training import (
    add_optimisation,
    need_torch,
    optimisation_of,
    print_result,
    show_training,
    use_threads,
)

EXAMPLES = """\
examples:
  twinloop finetune policies/first --data datasets/real --out policies/second
  twinloop finetune policies/first --data datasets/real --keep datasets/sim --share 0.5 --out policies/second
  twinloop finetune policies/first --data datasets/real --freeze enter,blocks --steps 200 --out policies/head
  twinloop finetune policies/first --data datasets/real --set executed=4 --out policies/reactive
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="folder of the policy to start from")
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="DATASET", help="datasets to train on")
    parser.add_argument(
        "--keep", type=Path, nargs="+", default=[], metavar="DATASET", help="datasets of the first training to mix in"
    )
    parser.add_argument(
        "--share",
        type=number(0, 1),
        metavar="S",
        help="share of --keep data in a batch (default: 0.9 with 10 new episodes, 0.72 with 50, 0.5 with thousands)",
    )
    parser.add_argument("--freeze", default="", metavar="NAME,...", help="parts of the network to freeze")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of the policy that changes, e.g. executed=4; the shape of the network must not; repeatable",
    )  # fmt: skip
    add_optimisation(parser, steps=500, learning_rate=1e-4, limited="each dataset of --data")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    use_threads(args.threads)
    from twinloop.dashboard.training import write_training_report
    from twinloop.learn.card import read_card
    from twinloop.learn.finetune import FinetuneConfig, finetuning
    from twinloop.learn.policies import POLICIES
    from twinloop.learn.train import train
    from twinloop.learn.training_job import parse_settings

    valid = POLICIES[read_card(args.checkpoint).policy].default_settings() if args.set else {}
    job = finetuning(
        FinetuneConfig(
            checkpoint=args.checkpoint,
            data=tuple(args.data),
            keep=tuple(args.keep),
            share=args.share,
            rate_hz=args.rate,
            most=args.episodes,
            train=optimisation_of(args, frozen=comma_separated(args.freeze)),
            seed=args.seed,
            settings=parse_settings(args.set, valid),
        )
    )
    with show_training(console, job) as on_progress:
        trained = train(job, args.out, on_progress=on_progress)
    return print_result(console, trained, write_training_report(trained))
