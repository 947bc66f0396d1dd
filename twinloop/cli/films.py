"""`twinloop calibrate --films`: the pose of a fixed camera, the table and the light, from films of a moving robot."""

import argparse
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.config_bench import bench_of, is_run_config, read_run_logs
from twinloop.cli.progress import Progress, show_progress
from twinloop.errors import UsageError
from twinloop.run.config import load_config

if TYPE_CHECKING:
    from twinloop.calibrate.footage.film_twin import FilmTwin


def run_films(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    # These need SciPy's optimizers, which take a while to import.
    from twinloop.calibrate.footage.film_frames import read_footage
    from twinloop.calibrate.footage.film_twin import calibrate_films
    from twinloop.dashboard.footage import write_backgrounds, write_footage_page

    if not args.camera:
        raise UsageError("--films: needs --camera, the name of the camera in the dataset")
    bench = _bench(args)
    with show_progress(console, f"camera {args.camera}") as show:
        show(Progress(0, 1, "reading films"))
        footage = read_footage(bench, args.films, camera=args.camera)
        twin = calibrate_films(
            bench, footage, seed=args.seed, on_progress=lambda doing, done, total: show(Progress(done, total, doing))
        )
    twin.write(args.out)
    page = write_footage_page(twin, args.page or args.out.with_suffix(".html"))
    pictures = write_backgrounds(twin, args.backgrounds) if args.backgrounds is not None else []
    _print(console, twin)
    for name, path in (("page", page), ("camera", args.out)):
        console.print(f"{name:7} {path}", markup=False)
    return {"path": str(args.out), "page": str(page), "backgrounds": [str(path) for path in pictures], **twin.to_json()}


def _bench(args: argparse.Namespace) -> Bench:
    if is_run_config(args.twin):
        return bench_of(load_config(args.twin), read_run_logs(args.films), name=str(args.twin))
    return load_bench(args.twin)


def _print(console: Console, twin: "FilmTwin") -> None:
    table = Table(title="Outline of the robot, film against twin", title_justify="left")
    for heading in ("frames", "number", "error, px", "95 % interval", "90 % below, px", "overlap (IoU)"):
        table.add_column(heading, justify="left" if heading == "frames" else "right")
    for name, side in (("fitted", twin.fitted), ("held out", twin.held_out)):
        low, high = side.error_interval_px
        table.add_row(
            name, str(len(side.frames)), f"{side.error_px:.1f}", f"{low:.1f} to {high:.1f}", f"{side.worst_px:.1f}",
            f"{side.iou:.2f}",
        )  # fmt: skip
    console.print(table)
    camera, around = twin.camera, twin.surroundings
    console.print(
        f"camera at {list(camera.position_m)} m, looks at {list(camera.look_at_m)} m, "
        f"field of view {camera.fov_deg:.1f}°, roll {camera.roll_deg:.1f}°",
        markup=False,
    )
    low, high = around.table_m
    console.print(f"table {1000 * low:.0f} to {1000 * high:.0f} mm above the robot's base", markup=False)
    light = (
        "not found"
        if around.light_deg is None
        else f"azimuth {around.light_deg[0]:.0f}°, elevation {around.light_deg[1]:.0f}°"
    )
    console.print(f"strongest light: {light} (overlap of shadows {around.shadow_fit:.2f})", markup=False)
