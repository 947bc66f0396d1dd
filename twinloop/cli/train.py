"""Train a policy on one or more datasets. The same command continues a training that was stopped."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import comma_separated, count, location
from twinloop.cli.training import (
    KINDS,
    add_optimisation,
    need_torch,
    optimisation_of,
    policy_settings_help,
    print_result,
    show_training,
    use_threads,
)

EXAMPLES = """\
examples:
  twinloop train datasets/pick_and_place --out policies/first
  twinloop train datasets/cell --policy act --steps 5000 --out policies/act
  twinloop train datasets/sim datasets/real --mix sim=0.8,real=0.2 --out policies/mixed
  twinloop train datasets/sim --weights weights.json --out policies/chosen       # episodes that `value` chose
  twinloop train datasets/cell --set horizon=24 --set width=512 --out policies/wide
  twinloop train datasets/filmed --policy act --precision bf16 --out policies/seeing \
      --inputs observation.state,observation.images.front,observation.images.wrist
  torchrun --standalone --nproc-per-node 2 -m twinloop train datasets/cell --batch 512 --out policies/two
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="+", type=location, metavar="DATASET", help="dataset folders of one schema")
    parser.add_argument("--policy", choices=KINDS, default="mlp", help="kind of policy (default: mlp)")
    parser.add_argument(
        "--mix", metavar="NAME=W,...", help="weights of datasets, or of sim and real (default: by size)"
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="weights of episodes, as `twinloop value` writes them"
    )
    parser.add_argument(
        "--inputs",
        metavar="NAME,...",
        help="observations to read (default: joints, object and goal poses; of legs and wheels: their sensors)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the policy, listed below; repeatable",
    )
    parser.add_argument(
        "--every", type=count(1, 1000), metavar="N",
        help="train on every N-th frame (default: all, or those with new images if cameras are slow)",
    )  # fmt: skip
    parser.add_argument(
        "--backbone", type=Path, metavar="PATH",
        help="start the vision backbone from a checkpoint folder or a safetensors file",
    )  # fmt: skip
    add_optimisation(parser, steps=2000, learning_rate=1e-3)


def more_help() -> str:
    return policy_settings_help()


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    use_threads(args.threads)
    from twinloop.dashboard.training import write_training_report
    from twinloop.learn.policies import POLICIES
    from twinloop.learn.space import default_inputs
    from twinloop.learn.train import train
    from twinloop.learn.training_job import TrainingJobConfig, parse_settings, prepare

    job = prepare(
        TrainingJobConfig(
            datasets=tuple(args.datasets),
            policy=args.policy,
            mix=args.mix,
            inputs=comma_separated(args.inputs or "") or default_inputs(args.datasets),
            rate_hz=args.rate,
            most=args.episodes,
            weights=args.weights,
            settings=parse_settings(args.set, POLICIES[args.policy].default_settings()),
            train=optimisation_of(args),
            every=args.every,
            backbone=args.backbone,
            seed=args.seed,
        )
    )
    with show_training(console, job) as on_progress:
        trained = train(job, args.out, on_progress=on_progress)
    return print_result(console, trained, write_training_report(trained))
