"""`twinloop calibrate` without motion: sensors at rest, depth scans, and frames of a camera."""

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.calibrate.patch import TwinPatch
from twinloop.calibrate.sensors.static import calibrate_static
from twinloop.calibrate.sensors.static_file import load_static


def run_static(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    patch = calibrate_static(load_static(args.twin), args.logs, seed=args.seed)
    patch.write(args.out)
    _summarise(console, patch)
    console.print(f"patch  {args.out}", markup=False)
    return {"patch": str(args.out), **patch_json(patch)}


def run_frames(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    # Importing the renderer takes a second, and only this command needs it.
    from twinloop.calibrate.visual.anchor import anchor
    from twinloop.dashboard.anchoring import write_anchoring_page
    from twinloop.run.config import load_config

    config = load_config(args.twin)
    camera = args.camera or next(iter(config.cameras_or_default))
    anchored = anchor(config, args.frames, camera=camera)
    anchored.patch.write(args.out)
    page = args.page or args.out.with_suffix(".html")
    write_anchoring_page(anchored, page)
    _summarise(console, anchored.patch)
    console.print(
        f"distance of patches  {anchored.distance_before:.1f} before, {anchored.distance_after:.1f} after (levels)"
    )
    console.print(f"page   {page}", markup=False)
    console.print(f"patch  {args.out}", markup=False)
    distances = {"before": anchored.distance_before, "after": anchored.distance_after}
    return {
        "patch": str(args.out),
        "page": str(page),
        "camera": camera,
        "distance": distances,
        **patch_json(anchored.patch),
    }


def patch_json(patch: TwinPatch) -> dict[str, Any]:
    return {
        "fitted": {
            name: {"value": value.value, "low": value.low, "high": value.high, "unit": value.unit}
            for name, value in patch.fitted.items()
        },
        "unknown": {name: {"reason": u.reason, "reveals": u.reveals} for name, u in patch.unknown.items()},
        "randomization": {name: list(ends) for name, ends in patch.ranges.items()},
        "notes": list(patch.notes),
    }


def _summarise(console: Console, patch: TwinPatch) -> None:
    table = Table(title=f"Estimates from {len(patch.provenance.logs)} files", title_justify="left")
    for heading in ("quantity", "value", "90 % interval", "unit"):
        table.add_column(heading, justify="left" if heading in ("quantity", "unit") else "right")
    for name, value in patch.fitted.items():
        table.add_row(name, f"{value.value:.4g}", f"{value.low:.4g} to {value.high:.4g}", value.unit)
    console.print(table)
    for name, unknown in patch.unknown.items():
        console.print(f"not determined: {name}: {unknown.reason}. It needs: {unknown.reveals}.", markup=False)
    for note in patch.notes:
        console.print(note, markup=False)
