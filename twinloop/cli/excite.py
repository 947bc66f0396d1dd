"""Move a robot with motions whose logs determine its drive best, and log them. The motions are chosen in the twin: they
maximise the information (D-optimal) about the quantities that `calibrate` fits, within the robot's limits of joints,
speed, acceleration and workspace, and without collisions. They pass the safety filter, like every command."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import count, number
from twinloop.cli.progress import Progress, show_progress

EXAMPLES = """\
examples:
  twinloop excite cell.yaml --robot twin:cell.yaml --out runlogs/excited
  twinloop excite cell.yaml --robot lerobot:so101.yaml --motions 3 --seconds 20 --speed 0.5
  twinloop excite cell.yaml --robot twin:cell.yaml --dry-run            # only plan, and say what it would tell
  twinloop calibrate cell.yaml --logs runlogs/excited --out patch.yaml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, metavar="FILE", help="a run config with the robot")
    parser.add_argument(
        "--robot", required=True, metavar="R", help="robot: twin, rehearsal:CELL or lerobot:CONFIG.yaml"
    )
    parser.add_argument("--out", type=Path, default=Path("runlogs/excited"), metavar="DIR", help="runlog to write")
    parser.add_argument("--motions", type=count(1, 100), default=2, metavar="N", help="number of motions (default 2)")
    parser.add_argument(
        "--seconds", type=number(4, 300), default=15.0, metavar="S", help="length of a motion (default 15)"
    )
    parser.add_argument(
        "--candidates", type=count(1, 1000), default=16, metavar="N", help="motions to choose from (default 16)"
    )
    parser.add_argument(
        "--speed", type=number(0.05, 1), default=1.0, metavar="S", help="factor on the velocity limits (default 1)"
    )
    parser.add_argument("--dry-run", action="store_true", help="plan the motions; do not move the robot")
    parser.add_argument("--stop-file", type=Path, metavar="FILE", help="e-stop file: latched while it exists")
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="seed of the motions")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.calibrate.config_bench import refuse_without_drive
    from twinloop.calibrate.design import design_excitation
    from twinloop.deploy.episode_runner import DeployConfig
    from twinloop.deploy.estop import stop_file_of
    from twinloop.deploy.keys import terminal
    from twinloop.deploy.play import play
    from twinloop.deploy.robots import robot_named, with_scene
    from twinloop.run.config import load_config

    config = load_config(args.config)
    refuse_without_drive(config, name=str(args.config))
    task = config.scene.task
    name = with_scene(args.robot, robot=config.scene.robot.name, task=task.name)
    live = robot_named(name)
    about = live.connect()
    try:
        with show_progress(console, "planning") as show:
            plan = design_excitation(
                config, about, seconds=args.seconds, motions=args.motions, candidates=args.candidates, seed=args.seed,
                speed=args.speed, on_progress=lambda doing, done, total: show(Progress(done, total, doing)),
            )  # fmt: skip
        unknown = [variable for variable in plan.std if variable not in plan.known]
        console.print(f"{len(plan.known)} of {len(plan.std)} quantities are expected to be determined", markup=False)
        for variable in unknown:
            console.print(f"  not by these motions: {variable}", markup=False)
        planned = {"std": dict(plan.std), "typical_std": dict(plan.typical_std), "known": list(plan.known)}
        if args.dry_run:
            return {"planned": planned, "runlog": None}
        stop_file = args.stop_file or stop_file_of(about.id)
        console.print(f"{about.id}: e-stop: touch {stop_file}, or SIGUSR1", markup=False)
        with show_progress(console, "moving") as show:
            result = play(
                live, args.out, plan.motions, config=DeployConfig(speed=args.speed), stop_file=stop_file,
                attended=terminal(), task=task,
                on_progress=lambda done, total: show(Progress(done, total, "motions")),
            )  # fmt: skip
    finally:
        live.close()
    console.print(f"{result.played} of {len(plan.motions)} motions played; runlog: {result.path}", markup=False)
    limits = ", ".join(f"{name} {times}" for name, times in result.limits.items())
    console.print(
        f"the safety filter changed {100 * result.changed:.1f} % of the commands{f' ({limits})' if limits else ''}; "
        "the log has the commands as they were sent",
        markup=False,
    )
    if not result.stopped:
        console.print(f"now: twinloop calibrate {args.config} --logs {result.path} --out patch.yaml", markup=False)
    if result.stopped:
        console.print(f"stopped early: {result.stopped}", markup=False)
    return {
        "planned": planned, "runlog": str(result.path), "digest": result.digest, "played": result.played,
        "changed": result.changed, "limits": dict(result.limits), "stopped": result.stopped,
        "exit_code": 1 if result.stopped else 0,
    }  # fmt: skip
