"""Convert real recordings into a dataset: LeRobot v2.1 and v3.0 folders, robomimic HDF5 files and CSV, JSON, JSON lines
or NumPy logs with a mapping. Values stay as recorded. Every episode gets a verdict with its evidence. With --of,
SOURCE is a restyled film of a stored episode and becomes another look of it: actions and states stay."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_consent, consent_of, number, plain_name
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.quality import print_qualities, write_papers
from twinloop.dataset import Dataset
from twinloop.dataset.ingest import IngestOptions, IngestProgress, ingest, load_mapping, open_source
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop ingest recordings/so101_cups --as so101_cups
  twinloop ingest demos.hdf5 --as lift_demos --outcome success
  twinloop ingest logs/ --as bench --mapping bench.yaml --out datasets/bench
  twinloop ingest recordings/so101_cups --as so101_cups --pictures none --json
  twinloop ingest control/cell-3/restyled.mp4 --of datasets/cell:3 --camera front --as cell_kitchen
  twinloop ingest recordings/p017 --as p017 --participant P017 --consent p017.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="a LeRobot folder, an HDF5 file, a log or a folder of logs"
    )
    parser.add_argument(
        "--as", dest="name", required=True, type=plain_name, metavar="NAME", help="name of the dataset and of its robot"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the dataset (default: datasets/NAME)")
    parser.add_argument(
        "--mapping", type=Path, metavar="FILE", help="YAML file that maps columns to features, with units"
    )
    parser.add_argument(
        "--pictures", choices=("auto", "all", "none"), default="auto",
        help="auto: cameras that at least 80 %% of the episodes have; all: every camera; none: no camera. Episodes "
        "without a video of a kept camera are rejected (default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "--rate-hz", type=number(1e-3, 1e5), metavar="HZ", help="recording rate in Hz (default: from the source)"
    )
    parser.add_argument("--robot", default="", metavar="ROBOT", help="kind of robot (default: from the source)")
    parser.add_argument("--task", default="", metavar="TEXT", help="task instruction (default: from the source)")
    parser.add_argument(
        "--outcome",
        choices=("success", "failure", "unknown"),
        help="outcome of all episodes, if the source does not contain it",
    )
    parser.add_argument(
        "--of", metavar="DATASET:K",
        help="SOURCE is a restyled film, or a folder of them, of stored episode K of this dataset",
    )  # fmt: skip
    parser.add_argument(
        "--camera", metavar="NAME", help="with --of: the camera that SOURCE restyles (default: the first)"
    )
    add_consent(parser, role="the person in all recordings")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.of is not None:
        return _run_restyled(args, console)
    if args.camera is not None:
        raise UsageError(f"--camera {args.camera}: belongs to --of DATASET:K")
    mapping = load_mapping(args.mapping) if args.mapping else None
    source = open_source(args.source, mapping)
    out = args.out or Path("datasets") / args.name
    options = IngestOptions(args.pictures, args.rate_hz, args.robot, args.task, args.outcome or "")
    with show_progress(console, f"ingesting {args.name}") as show:

        def on_progress(progress: IngestProgress) -> None:
            text = progress.doing + (f", [red]{progress.rejected} rejected[/]" if progress.rejected else "")
            show(Progress(progress.done, progress.total, text))

        done = ingest(
            source, out, name=args.name, label=args.source.name, mapping=mapping, options=options,
            consent=consent_of(args), on_progress=on_progress,
        )  # fmt: skip
    written = write_papers(out, args.name, done.qualities)
    print_qualities(console, done.qualities)
    for name, why in done.left_out.items():
        console.print(f"left out: {name}: {why}", markup=False)
    rejected = sum(bool(quality.errors) for quality in done.qualities)
    console.print(f"\n{out}: {len(done.qualities):,} episodes, {rejected:,} rejected; see {written}", markup=False)
    return {
        "path": str(out),
        "format": source.kind,
        "digest": done.digest,
        "episodes": len(done.qualities),
        "rejected": rejected,
        "left_out": dict(done.left_out),
        "page": str(written),
        "quality": [quality.to_json() for quality in done.qualities if quality.findings],
    }


def _run_restyled(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    # Importing the renderer takes a second, and only this form needs it.
    from twinloop.dataset.control.restyled import find_films, ingest_restyled, split_episode

    given = {"--mapping": args.mapping, "--rate-hz": args.rate_hz, "--robot": args.robot, "--task": args.task,
             "--outcome": args.outcome}  # fmt: skip
    for option, value in given.items():
        if value:
            raise UsageError(f"{option} {value}: cannot be given with --of; everything but the images stays")
    folder, episode = split_episode(args.of)
    films = find_films(args.source, Dataset.open(folder), episode, camera=args.camera)
    out = args.out or Path("datasets") / args.name
    with show_progress(console, f"ingesting {args.name}") as show:
        digest = ingest_restyled(
            films, out, name=args.name, on_progress=lambda done, total: show(Progress(done, total, "looks"))
        )
    console.print(
        f"{out}: {len(films.looks)} looks of episode {episode} of {folder}, camera {films.camera}", markup=False
    )
    if films.resized:
        console.print(f"resized to the camera's size: {', '.join(films.resized)}", markup=False)
    console.print(f"join both: twinloop merge {folder} {out} --out DIR", markup=False)
    return {
        "path": str(out), "digest": digest, "looks": list(films.looks), "resized": list(films.resized),
        "camera": films.camera, "of": str(folder), "episode": episode,
    }  # fmt: skip
