"""Shared by `train`, `finetune` and `loop`: arguments of the optimisation, progress bar, summary, settings help."""

import argparse
import math
import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import count, number
from twinloop.cli.progress import Progress, format_duration, show_progress
from twinloop.errors import UsageError
from twinloop.learn.policies import POLICIES

if TYPE_CHECKING:
    from twinloop.learn.optimise import TrainConfig
    from twinloop.learn.train import TrainProgress, TrainResult
    from twinloop.learn.training_job import TrainingJob

KINDS = tuple(POLICIES)


def need_torch(extra: str = "learn") -> None:
    """Raise an error that names the extra to install if torch is not installed, without importing it."""
    if find_spec("torch") is None:
        raise UsageError(f"policies need torch: pip install 'twinloop[{extra}]'")


def use_threads(threads: int | None) -> None:
    """Set the number of torch threads. Default: `OMP_NUM_THREADS` if it is set, else one per core."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(os.cpu_count() or 1)


def add_optimisation(
    parser: argparse.ArgumentParser, *, steps: int, learning_rate: float, limited: str = "each dataset"
) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write the checkpoint to")
    parser.add_argument(
        "--steps",
        type=count(1, 10_000_000),
        default=steps,
        metavar="N",
        help=f"optimisation steps, one batch each (default: {steps})",
    )
    parser.add_argument(
        "--batch", type=count(1, 65_536), metavar="N",
        help="frames in a batch (default: 512; from images 64 for act, 128 for flow)",
    )  # fmt: skip
    parser.add_argument(
        "--learning-rate",
        type=number(0, 1),
        default=learning_rate,
        metavar="R",
        help=f"peak learning rate (default: {learning_rate:g})",
    )
    parser.add_argument(
        "--held-out",
        type=number(0, 0.9),
        default=0.05,
        metavar="S",
        help="share of held-out episodes, used for validation (default: 0.05)",
    )
    parser.add_argument(
        "--threads", type=count(1, 1024), metavar="N", help="number of torch threads (default: one per core)"
    )
    parser.add_argument(
        "--accumulate", type=count(1, 4096), default=1, metavar="N", help="cut each batch into N parts to save memory"
    )
    parser.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default), cuda or cuda:N")
    parser.add_argument(
        "--precision", choices=("float32", "bf16"), default="float32",
        help="precision of the vision backbone: float32 (default), or bf16, which is faster on some processors",
    )  # fmt: skip
    parser.add_argument("--compile", action="store_true", help="compile the vision backbone with torch.compile")
    parser.add_argument("--rate", type=number(0.1, 10_000), metavar="HZ", help="resample all data to this rate")
    parser.add_argument("--episodes", type=count(), metavar="N", help=f"use the first N accepted episodes of {limited}")
    parser.add_argument(
        "--seed",
        type=count(0, (1 << 63) - 1),
        default=0,
        metavar="N",
        help="seed of initial weights and batches (default: 0)",
    )


def optimisation_of(args: argparse.Namespace, **more: Any) -> "TrainConfig":
    """Return the settings of the optimisation that the arguments give."""
    from twinloop.learn.optimise import TrainConfig

    return TrainConfig(
        steps=args.steps, batch=args.batch, learning_rate=args.learning_rate, held_out=args.held_out,
        accumulate=args.accumulate, device=args.device, precision=args.precision, compile=args.compile, **more,
    )  # fmt: skip


def policy_settings_help() -> str:
    """List the settings that `--set NAME=VALUE` takes, with their defaults, for every kind of policy."""
    if find_spec("torch") is None:
        return "settings of policies (--set NAME=VALUE): install 'twinloop[learn]' to list them\n"
    lines = ["settings of policies and their defaults (--set NAME=VALUE):"]
    for name, kind in POLICIES.items():
        settings = " ".join(f"{key}={value}" for key, value in kind.default_settings().items())
        lines.append(f"  {name:5} {settings}")
    return "\n".join(lines) + "\n"


@contextmanager
def show_training(console: Console, job: "TrainingJob") -> Iterator[Callable[["TrainProgress"], None]]:
    """Print policy and data of the training, the time of the first step, then loss, steps per second and time left.

    The first step is much slower than the others, so the time left is estimated without it.
    """
    console.print(describe_job(job), markup=False)
    rate = StepRate(time.monotonic())
    with show_progress(console, "Training", time_left=False) as show:

        def update(progress: "TrainProgress") -> None:
            first = rate.update(progress.step, time.monotonic())
            if first is not None:
                console.print(f"First step, with setup: {first:.1f} s.", markup=False)
            losses = f"loss {_loss(progress.loss)}, held-out loss {_loss(progress.held_out_loss)}"
            waiting = f", {progress.waiting_share:.0%} waiting for data"
            show(Progress(progress.step, progress.steps, f"{losses}{rate.text(progress.steps)}{waiting}"))

        yield update


def describe_job(job: "TrainingJob") -> str:
    """Describe a training job in one line: policy, inputs, data and batch size."""
    space, train = job.mixture.space, job.config.train
    inputs = ", ".join(feature.name.removeprefix("observation.") for feature in space.inputs)
    episodes = sum(len(part.lengths) for part in job.mixture.parts)
    return (
        f"Training {job.config.policy} from {inputs}: {episodes:,} episodes, {job.mixture.frames:,} frames; "
        f"{train.steps:,} steps with batches of {train.batch:,} frames."
    )


class StepRate:
    """Steps per second since the first step of this session. The first step is slower and does not count."""

    def __init__(self, began_s: float):
        self._began_s = began_s
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] = (0, began_s)

    def update(self, step: int, now_s: float) -> float | None:
        """Record that `step` is done. Return the seconds of the first step when it is the first one, else None."""
        self._last = step, now_s
        if self._first is not None:
            return None
        self._first = step, now_s
        return now_s - self._began_s

    def text(self, steps: int) -> str:
        """Return text such as `, 2.1 steps/s, 15 min left`; "" before the second step."""
        (first, then_s), (step, now_s) = self._first or self._last, self._last
        if step == first or now_s <= then_s:
            return ""
        rate = (step - first) / (now_s - then_s)
        speed = f"{rate:.1f} steps/s" if rate >= 1 else f"{1 / rate:.1f} s/step"
        return f", {speed}, {format_duration((steps - step) / rate)} left"


def _loss(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def print_result(console: Console, trained: "TrainResult", report: Path) -> dict[str, Any]:
    card, path = trained.checkpoint.card, trained.checkpoint.path
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("policy", f"{card.policy}, {card.steps:,} steps")
    for data in card.data:
        table.add_row("data", f"{data['path']}: {data['episodes']:,} episodes, weight {data['weight']:.2f}")
    held_out = card.metrics["held_out_loss"]
    table.add_row("loss", f"{card.metrics['loss']:.4f}, held out {'-' if held_out is None else f'{held_out:.4f}'}")
    if trained.resumed_from:
        table.add_row("resumed", f"from step {trained.resumed_from:,}")
    table.add_row("data", f"{trained.waiting_share:.1%} of the time waiting for batches")
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
        "waiting_share": round(trained.waiting_share, 4),
        "report": str(report),
    }
