"""Find implausible episodes with a learned filter (a curator), and write their scores beside the dataset. Trains a
curator on the dataset's accepted episodes, or uses a trained one. The dataset itself is not changed."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_dataset, count
from twinloop.cli.progress import Progress, show_progress
from twinloop.curate.discriminator.curator_file import load_curator
from twinloop.curate.discriminator.threshold import Threshold
from twinloop.dataset import Dataset
from twinloop.dataset.curation import Curation, curate_dataset, finished_curation, trained_curator, write_curation
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop curate datasets/demo                                  # train on it and score it: curation/demo/
  twinloop curate datasets/demo --trusted datasets/checked       # train on episodes that are known to be good
  twinloop curate datasets/new --curator curation/demo           # score with a trained curator
  twinloop curate datasets/demo --real datasets/robot            # and test simulated against real episodes
  twinloop curate datasets/demo --miss-cost 10 --json            # threshold by expected cost
  twinloop curate datasets/demo --films                          # and films of the worst episodes, without cameras
  twinloop train datasets/demo --weights curation/demo/weights.json --out policies/demo
  twinloop generate cell.yaml --curator curation/demo            # apply it while generating
"""

WEIGHTS = "weights.json"
SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)
    parser.add_argument("--real", type=Path, metavar="DATASET", help="real episodes: test simulated against real")
    parser.add_argument("--curator", type=Path, metavar="FILE", help="score with this curator instead of training one")
    parser.add_argument("--trusted", type=Path, metavar="DATASET", help="train on this dataset of good episodes")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: curation/NAME)")
    parser.add_argument(
        "--false-rejections", type=_share, default=0.005, metavar="S",
        help="share of good episodes that may be rejected (default: 0.005)",
    )  # fmt: skip
    parser.add_argument(
        "--miss-cost", type=_positive, metavar="C",
        help="cost of a faulty episode in the training data, in good episodes: choose the threshold by expected cost",
    )  # fmt: skip
    parser.add_argument(
        "--fault-share", type=_share, default=0.05, metavar="S",
        help="with --miss-cost: expected share of faulty episodes (default: 0.05)",
    )  # fmt: skip
    parser.add_argument(
        "--films", action="store_true",
        help="without cameras: simulate the worst and the borderline episodes again and show films (seconds each)",
    )  # fmt: skip
    parser.add_argument("--no-images", action="store_true", help="do not decode images (faster)")
    parser.add_argument(
        "--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="seed of the training (default: 0)"
    )


def _share(text: str) -> float:
    value = _positive(text)
    if value >= 1:
        raise argparse.ArgumentTypeError(f"{text} was given; a share between 0 and 1 was expected")
    return value


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 < value < np.inf:
        raise argparse.ArgumentTypeError(f"{text} was given; a positive number was expected")
    return value


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.curator is not None and args.trusted is not None:
        raise UsageError("--curator and --trusted: give one of them; a trained curator is not trained again")
    dataset = Dataset.open(args.dataset)
    out = args.out or Path("curation") / dataset.header.name
    real = None if args.real is None else Dataset.open(args.real)
    trusted = None if args.trusted is None else Dataset.open(args.trusted)
    threshold = Threshold(args.false_rejections, miss_cost=args.miss_cost, fault_share=args.fault_share)
    curator = None if args.curator is None else load_curator(args.curator)
    if curator is None:
        curator = trained_curator(out, trusted or dataset, seed=args.seed, threshold=threshold)
    done = finished_curation(out, dataset, curator) if real is None and not args.films else None
    if done is not None:
        console.print(f"nothing to do: {out} has the scores of this dataset with this curator", markup=False)
        return {"path": str(args.dataset), "out": str(out), **done}
    images = not args.no_images and bool(dataset.header.pictures)
    with show_progress(console, f"curating {dataset.header.name}") as show:
        curation = curate_dataset(
            dataset, seed=args.seed, curator=curator, trusted=trusted, real=real, threshold=threshold, images=images,
            on_step=lambda what, step, steps: show(Progress(step, steps, what)),
        )  # fmt: skip
        curation = write_curation(curation, out)
    page = _write_rest(curation, dataset, out, films=args.films)
    _print(console, curation)
    console.print(f"\nscores: {out}\npage: {page}", markup=False)
    return {
        "path": str(args.dataset), "out": str(out), "page": str(page), **curation.to_json(),
        "card": dict(curation.curator.card),
    }  # fmt: skip


def _write_rest(curation: Curation, dataset: Dataset, out: Path, *, films: bool) -> Path:
    """The weights for training and the page."""
    from twinloop.dashboard.curation import write_curation_page
    from twinloop.learn.curation_weights import weights_of_curation

    weights_of_curation(curation, path=dataset.path.name).write(out / WEIGHTS)
    return write_curation_page(out, dataset, curation, films=films)


def _print(console: Console, curation: Curation) -> None:
    scores = curation.scores
    table = Table("attempt", "score", "reason", box=None, pad_edge=False)
    order = [row for row in np.argsort(-scores.values) if curation.rejected[row]]
    for row in order[:SHOWN]:
        table.add_row(str(scores.attempts[row]), f"{scores.values[row]:.2f}", scores.reasons[row])
    if order:
        console.print(table, markup=False)
    if len(order) > SHOWN:
        console.print(f"... and {len(order) - SHOWN:,} more")
    rejected, accepted = int(curation.rejected.sum()), int(curation.accepted.sum())
    console.print(
        f"\n{rejected:,} of {accepted:,} accepted episodes are implausible (threshold {scores.threshold:.2f}, by "
        f"{curation.curator.card.get('threshold_by', 'its file')})",
        markup=False,
    )
    if curation.test is not None:
        test = curation.test
        low, high = test.interval
        console.print(
            f"simulated against real: AUROC {test.auroc:.3f} ({low:.3f} to {high:.3f}), p = {test.p_value:.3g}; "
            f"most by {', '.join(f'{channel.channel} ({channel.auroc:.2f})' for channel in test.channels[:3])}",
            markup=False,
        )
