"""What `train` and `finetune` share: arguments of the optimisation, the bar, and what is said at the end."""

import argparse
import math
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import count, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.errors import UsageError
from twinloop.plugins import plugin_names

if TYPE_CHECKING:
    from twinloop.learn.train import TrainProgress, TrainResult

KINDS = ("mlp", "act", "flow", *plugin_names("twinloop.policies"))


def need_torch() -> None:
    """Learning is an extra; said before anything else is, and without the seconds that importing it takes."""
    if find_spec("torch") is None:
        raise UsageError("policies need torch: pip install 'twinloop[learn]'")


def use_threads(threads: int | None) -> None:
    import torch

    torch.set_num_threads(threads or os.cpu_count() or 1)


def add_optimisation(parser: argparse.ArgumentParser, *, steps: int, learning_rate: float) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the checkpoint")
    parser.add_argument("--steps", type=count(1, 10_000_000), default=steps, metavar="N", help=f"batches ({steps})")
    parser.add_argument("--batch", type=count(1, 65_536), default=512, metavar="N", help="frames in a batch (512)")
    parser.add_argument(
        "--learning-rate", type=number(0, 1), default=learning_rate, metavar="R", help=f"highest ({learning_rate:g})"
    )
    parser.add_argument(
        "--held-out", type=number(0, 0.9), default=0.05, metavar="S", help="share of episodes to validate on (0.05)"
    )
    parser.add_argument("--threads", type=count(1, 1024), metavar="N", help="of torch (default: one a core)")
    parser.add_argument("--rate", type=number(0.1, 10_000), metavar="HZ", help="resample all data to this rate")
    parser.add_argument("--episodes", type=count(), metavar="N", help="of each dataset, the first N accepted")
    parser.add_argument(
        "--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="of weights and batches (0)"
    )


@contextmanager
def show_training(console: Console) -> Iterator[Callable[["TrainProgress"], None]]:
    with show_progress(console, "learning") as show:

        def update(moment: "TrainProgress") -> None:
            told = f"loss {_loss(moment.loss)}, held out {_loss(moment.held_out_loss)}"
            show(Progress(moment.step, moment.steps, told))

        yield update


def _loss(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def told(console: Console, trained: "TrainResult", report: Path) -> dict[str, Any]:
    card, path = trained.checkpoint.card, trained.checkpoint.path
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("policy", f"{card.policy}, {card.steps:,} steps")
    for data in card.data:
        table.add_row("data", f"{data['path']}: {data['episodes']:,} episodes, weight {data['weight']:.2f}")
    held_out = card.metrics["held_out_loss"]
    table.add_row("loss", f"{card.metrics['loss']:.4f}, held out {'-' if held_out is None else f'{held_out:.4f}'}")
    if trained.resumed_from:
        table.add_row("resumed", f"from step {trained.resumed_from:,}")
    table.add_row("digest", card.digest)
    table.add_row("checkpoint", str(path))
    table.add_row("report", str(report))
    console.print(table)
    console.print(f"\nNext:\n  twinloop evaluate {shlex.quote(str(path))}", markup=False)
    return {
        "path": str(path),
        "digest": card.digest,
        "policy": card.policy,
        "steps": card.steps,
        "loss": card.metrics["loss"],
        "held_out_loss": held_out,
        "held_out_error": card.metrics["held_out_error"],
        "data": list(card.data),
        "resumed_from": trained.resumed_from,
        "report": str(report),
    }
