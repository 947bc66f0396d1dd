"""Write control videos of one stored episode for world models that draw it again in another style: edges, depth, masks
and blur, with a prompt and parameter files of Cosmos Transfer. `twinloop ingest --of` reads the restyled film back."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_dataset, count
from twinloop.cli.progress import Progress, show_progress
from twinloop.dataset import Dataset

EXAMPLES = """\
examples:
  twinloop export-control datasets/cell --episode 3 --out control/cell-3
  twinloop export-control datasets/cell --episode 3 --camera front --scale 4 --out control/cell-3
  twinloop export-control datasets/cell --episode 3 --prompt "A robot arm in a kitchen at night." --out control/night
  twinloop ingest control/cell-3/restyled.mp4 --of datasets/cell:3 --camera front --as cell_kitchen
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dataset(parser)
    parser.add_argument(
        "--episode", type=count(0), required=True, metavar="K", help="index among the stored episodes, from 0"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--camera", metavar="NAME", help="camera of the dataset (default: the first)")
    parser.add_argument("--prompt", metavar="TEXT", help="text for the world model (default: the task's instruction)")
    parser.add_argument(
        "--scale", type=count(1, 16), default=1, metavar="N",
        help="how many times larger than the camera's images the videos are (default 1)",
    )  # fmt: skip


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    # Importing the renderer takes a second, and only this command needs it.
    from twinloop.dataset.control.export import export_control

    dataset = Dataset.open(args.dataset)
    with show_progress(console, "writing control videos") as show:
        exported = export_control(
            dataset, args.episode, args.out, camera=args.camera, prompt=args.prompt, scale=args.scale,
            on_progress=lambda done, total: show(Progress(done, total, "videos")),
        )  # fmt: skip
    width, height = exported.size
    console.print(
        f"{args.out}: {', '.join(exported.videos)} of camera {exported.camera}, {exported.frames} frames of "
        f"{width} × {height} at {exported.rate_hz:g} Hz",
        markup=False,
    )
    for control, why in exported.missing.items():
        console.print(f"without {control}: {why}", markup=False)
    console.print(f"parameters of Cosmos-Transfer2.5: {args.out / 'transfer2.json'}", markup=False)
    return exported.to_json()
