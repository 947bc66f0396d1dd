"""Remove a participant's episodes from all datasets and list every checkpoint that was trained on them.

After a kill, run it again to finish. Another run removes nothing more and lists the same checkpoints."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

EXAMPLES = """\
examples:
  twinloop forget P017 --dry-run
  twinloop forget P017
  twinloop forget P017 --datasets runs datasets --checkpoints policies --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("participant", metavar="PARTICIPANT", help="the pseudonym")
    for name, kind in (("datasets", "datasets"), ("checkpoints", "checkpoints")):
        parser.add_argument(
            f"--{name}", nargs="+", type=Path, default=[Path()], metavar="DIR",
            help=f"folders to search for {kind}, recursively (default: current folder)",
        )  # fmt: skip
    parser.add_argument("--cache", type=Path, metavar="DIR", help="image cache of training")
    parser.add_argument("--dry-run", action="store_true", help="print what would be removed, change nothing")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.gate.forget import forget
    from twinloop.learn.pictures import default_cache

    done = forget(
        args.participant, args.datasets, args.checkpoints, cache=args.cache or default_cache(), dry_run=args.dry_run
    )
    verb = "would be removed" if args.dry_run else "removed"
    console.print(f"{done.episodes} episodes {verb}; {done.looked_at} datasets searched")
    for dataset in done.datasets:
        state = f"{dataset.episodes} {verb}" if dataset.episodes else "removed earlier"
        console.print(f"  {dataset.path}: {state}")
        if dataset.beside:
            console.print(f"    not searched: {', '.join(dataset.beside)}")
    if done.cached:
        console.print(f"{done.cached} cached images removed")
    for title, learners in (
        ("were trained on this data; train them again", done.learners),
        ("may have been trained on this data", done.unclear),
    ):
        if learners:
            console.print(f"checkpoints that {title}:")
            for learner in learners:
                console.print(f"  {learner.path} ({learner.digest[:12]}): {learner.because}")
    if not done.learners:
        console.print("no checkpoint was trained on this data")
    return {
        "participant": args.participant,
        "dry_run": args.dry_run,
        "episodes": done.episodes,
        "looked_at": done.looked_at,
        "datasets": [
            {"path": str(dataset.path), "episodes": dataset.episodes, "beside": list(dataset.beside)}
            for dataset in done.datasets
        ],
        "checkpoints": [asdict(learner) for learner in done.learners],
        "unclear": [asdict(learner) for learner in done.unclear],
        "cached": done.cached,
    }
