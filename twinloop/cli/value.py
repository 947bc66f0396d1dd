"""Score episodes by how much training on them helps a policy on target data, and write weights for `train`.

The score is the alignment of an episode's gradient with the gradient on the target, after a random projection. The
datasets do not change: scores and weights are a file of their own, which names the datasets by digest."""

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import count, location, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.training import need_torch, use_threads

EXAMPLES = """\
examples:
  twinloop value datasets/sim --policy policies/first --on runlogs/demonstrations --out weights.json
  twinloop value datasets/a datasets/b --policy policies/first --on datasets/real --keep 0.3
  twinloop train datasets/sim --weights weights.json --out policies/chosen
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("datasets", nargs="+", type=location, metavar="DATASET", help="datasets to score")
    parser.add_argument(
        "--policy", type=Path, required=True, metavar="DIR", help="a checkpoint, trained on these datasets"
    )
    parser.add_argument(
        "--on", nargs="+", type=location, required=True, metavar="DATA",
        help="runlogs or datasets with demonstrations in the cell that matters",
    )  # fmt: skip
    parser.add_argument(
        "--keep", type=number(0.001, 1), default=0.5, metavar="SHARE",
        help="share of episodes that get weight 1; the others get 0 (default: 0.5)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("weights.json"), metavar="FILE", help="default: weights.json")
    parser.add_argument(
        "--frames", type=count(1, 4096), default=48, metavar="N", help="frames of each episode (default: 48)"
    )
    parser.add_argument(
        "--size", type=count(16, 16384), default=2048, metavar="N", help="size of projected gradients (default: 2048)"
    )
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="seed of the projection")
    parser.add_argument(
        "--threads", type=count(1, 1024), metavar="N", help="number of torch threads (default: one per core)"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    use_threads(args.threads)
    from twinloop.learn.value import ValueConfig
    from twinloop.learn.value_datasets import value_datasets

    config = ValueConfig(frames=args.frames, size=args.size, seed=args.seed)
    with show_progress(console, "Valuing episodes") as show:
        table, valuation = value_datasets(
            args.datasets, args.policy, args.on, keep=args.keep, config=config,
            on_progress=lambda done, total: show(Progress(done, total, "")),
        )  # fmt: skip
    table.write(args.out)
    summary = Table(title=f"{valuation.target_episodes} target episodes", title_justify="left")
    for heading in ("dataset", "episodes", "kept", "score, median", "helpful"):
        summary.add_column(heading, justify="left" if heading == "dataset" else "right")
    for entry in table.datasets:
        scores, weights = np.array(entry.scores), np.array(entry.weights)
        summary.add_row(
            entry.path, f"{len(scores):,}", f"{int((weights > 0).sum()):,}", f"{np.median(scores):.3g}",
            f"{100 * np.mean(scores > 0):.0f} %",
        )  # fmt: skip
    console.print(summary)
    agreement = f"rank correlation of the scores from two halves of the target: {valuation.agreement:.2f}"
    console.print(agreement, markup=False)
    if valuation.is_noise:
        console.print(
            "warning: two halves of the target give unrelated orders, so these weights are mostly chance. Give more "
            "target episodes with --on.", markup=False,
        )  # fmt: skip
    console.print(f"weights  {args.out} ({table.digest[:12]})", markup=False)
    folders = " ".join(shlex.quote(str(path)) for path in args.datasets)
    console.print(f"\nNext:\n  twinloop train {folders} --weights {shlex.quote(str(args.out))}", markup=False)
    return {
        "weights": str(args.out),
        "digest": table.digest,
        "agreement": round(valuation.agreement, 4),
        "is_noise": valuation.is_noise,
        "target_episodes": valuation.target_episodes,
        "datasets": [
            {
                "path": entry.path,
                "episodes": len(entry.scores),
                "kept": int(sum(weight > 0 for weight in entry.weights)),
                "median_score": float(np.median(entry.scores)),
            }
            for entry in table.datasets
        ],
    }
