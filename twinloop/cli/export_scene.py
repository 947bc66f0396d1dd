"""Write the cell of a config as a self-contained folder for other programs: MJCF for MuJoCo and its viewer, USD for
Isaac Sim and Omniverse, URDF for ROS and others. NOTES.txt in the folder lists what the format cannot express."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_config, config_of, count
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop export-scene cell.yaml --out scenes/cell --mjcf            # open scenes/cell/scene.xml in MuJoCo's viewer
  twinloop export-scene cell.yaml --out scenes/cell --usd             # needs: pip install 'twinloop[usd]'
  twinloop export-scene cell.yaml --out scenes/cell --urdf            # one URDF per robot, fixture and thing
  twinloop export-scene datasets/cell/config.yaml --out scenes/17 --mjcf --episode 17 --seed 3   # as episode 17 began
"""

FORMATS = {
    "mjcf": "one XML file and its assets, which MuJoCo loads",
    "usd": "a USD stage with UsdPhysics, for Isaac Sim",
    "urdf": "a URDF file for each robot, fixture and thing, and scene.json with their poses",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="the folder to write: new, empty or an earlier export"
    )
    formats = parser.add_mutually_exclusive_group(required=True)
    for name, description in FORMATS.items():
        formats.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=description)
    parser.add_argument(
        "--episode", type=count(0), metavar="N", help="with the values that episode N draws (default: nominal values)"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.seed is not None and args.episode is None:
        raise UsageError(f"--seed {args.seed}: only an episode depends on the seed; add --episode N or drop --seed")
    from twinloop.scene_export import export_scene, snapshot_of

    config, name = config_of(args)
    exported = export_scene(snapshot_of(config, episode=args.episode), args.out, args.format)
    scene = exported.scene
    which = "nominal values" if args.episode is None else f"episode {args.episode} of seed {config.rollout.seed}"
    console.print(
        f"{exported.main}: {name}, {which}; {scene.model.nbody - 1} bodies, {scene.model.njnt} joints, "
        f"{len(exported.files)} files, {exported.bytes / 1e6:.1f} MB",
        markup=False,
    )
    console.print(f"What differs from the twin, or cannot be expressed in {args.format.upper()} (also in NOTES.txt):")
    for note in exported.notes:
        console.print(f"  - {note}", markup=False)
    return {
        "path": str(exported.folder),
        "main": str(exported.main),
        "format": args.format,
        "files": list(exported.files),
        "bytes": exported.bytes,
        "bodies": scene.model.nbody - 1,
        "joints": scene.model.njnt,
        "config_digest": config.digest,
        "episode": args.episode,
        "seed": config.rollout.seed if args.episode is not None else None,
        "largest_state_difference": scene.check.state,
        "largest_mass_difference_kg": scene.check.mass_kg,
        "notes": list(exported.notes),
    }
