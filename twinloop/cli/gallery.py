"""Draw a contact sheet of camera images: from the middle of N simulated episodes, or with one parameter swept over its
range. A config without cameras gets two: front and wrist."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_config, config_of, count
from twinloop.dashboard.images import write_png
from twinloop.dashboard.overlay import overlaid
from twinloop.dashboard.sheet import contact_sheet, side_by_side
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.gallery import GalleryPicture, gallery
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.tasks import tasks

EXAMPLES = """\
examples:
  twinloop gallery cell.yaml --out sheet.png
  twinloop gallery cell.yaml --out labels.png --labels --count 6
  twinloop gallery cell.yaml --out light.png --sweep lighting_intensity --camera front
  twinloop gallery cell.yaml --out yaw.png --sweep camera_jitter_deg.yaw --count 5
  twinloop gallery --task all --camera front --out tasks.png         # every task, one image each
"""

WIDEST_PX = 1700
EVERY_TASK = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="PNG", help="image file to write")
    parser.add_argument("--count", type=count(1, 256), default=12, metavar="N", help="number of draws (default 12)")
    parser.add_argument("--labels", action="store_true", help="draw masks, boxes and keypoints over the images")
    parser.add_argument("--sweep", metavar="PARAMETER", help="vary only this parameter, over its range")
    parser.add_argument("--camera", metavar="NAME", help="only this camera (default: all, side by side)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.task == EVERY_TASK:
        config, name = config_of(argparse.Namespace(**{**vars(args), "task": None}))
        draws, captions = _of_every_task(config, args)
    else:
        config, name = config_of(args)
        draws = gallery(config, count=args.count, camera=args.camera, sweep=args.sweep, labels=args.labels)
        captions = [_caption(pictures[0], args.sweep) for pictures in draws]
    tiles = [side_by_side([_image(picture) for picture in pictures]) for pictures in draws]
    cameras = ", ".join(picture.camera for picture in draws[0])
    what = f"{len(draws)} tasks" if args.task == EVERY_TASK else args.sweep or f"{len(draws)} draws"
    title = f"{name} · {what} · {cameras} · seed {config.rollout.seed}"
    columns = max(1, min(len(tiles), WIDEST_PX // tiles[0].shape[1], 4 if len(tiles) > 6 else 3))
    sheet = contact_sheet(tiles, captions, title=title, columns=columns)
    write_png(args.out, sheet)
    console.print(f"{args.out}: {len(tiles)} images of {cameras}, {sheet.shape[1]} × {sheet.shape[0]} pixels")
    if len(tiles) < args.count and args.task != EVERY_TASK:
        console.print(f"{args.count - len(tiles)} episodes diverged before their first frame and are not shown")
    return {
        "path": str(args.out),
        "width": sheet.shape[1],
        "height": sheet.shape[0],
        "config_digest": config.digest,
        "seed": config.rollout.seed,
        "pictures": [
            {
                "attempt": picture.attempt,
                "camera": picture.camera,
                "time_s": round(picture.time_s, 3),
                "drawn": picture.drawn,
            }
            for pictures in draws
            for picture in pictures
        ],
    }


def _of_every_task(config: RunConfig, args: argparse.Namespace) -> tuple[list[list[GalleryPicture]], list[str]]:
    """One image per camera of each task, in the middle of its first episode."""
    draws, captions = [], []
    for task, entry in sorted(tasks().items()):
        if unfit_arms(entry, config.scene.robot):
            continue
        (pictures,) = gallery(config.with_task(task), count=1, camera=args.camera, labels=args.labels)
        draws.append(pictures)
        captions.append(task)
    return draws, captions


def _image(picture: GalleryPicture) -> Any:
    return picture.rgb if picture.labels is None else overlaid(picture.rgb, picture.truth, picture.labels, 0)


def _caption(picture: GalleryPicture, sweep: str | None) -> str:
    if sweep is None:
        return f"episode {picture.attempt} at {picture.time_s:.2f} s"
    row = BY_NAME[sweep.partition(".")[0]]
    column = sweep if sweep in picture.drawn else row.columns[0]
    if row.words:
        return row.words[round(picture.drawn[column])]
    return f"{picture.drawn[column]:.4g} {row.unit if row.unit != '1' else ''}"
