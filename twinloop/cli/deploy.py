"""Let a policy act on a robot, or two in turns: at a fixed rate, behind a safety filter that knows the robot's limits,
with an e-stop. Every episode is committed to a runlog, a dataset with `source: real`, as it ends; the same command goes
on where it stopped."""

import argparse
import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import conditions, count, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop deploy policies/first --robot rehearsal:nominal --episodes 20
  twinloop deploy policies/first.onnx --robot twin --episodes 5 --out runlogs/twin
  twinloop deploy policies/second --control policies/first --robot rehearsal:harsh --episodes 50 --workers 2
  twinloop deploy policies/first --robot rehearsal:mild --episodes 10 --speed 0.5 --condition light=dim
  twinloop deploy policies/first --robot rehearsal:mild --episodes 10 --reset-stop     # after an e-stop
"""

EPISODES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a folder of `train` or a file of `export`")
    parser.add_argument("--robot", required=True, metavar="R", help="twin, twin:CONFIG.yaml, rehearsal:CELL, ...")
    parser.add_argument(
        "--episodes", type=count(), default=EPISODES, metavar="N",
        help=f"scenes that each policy acts in, those in the log already included (default {EPISODES})",
    )  # fmt: skip
    parser.add_argument("--first", type=count(0), default=0, metavar="K", help="the first scene's number (default 0)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the runlog (default: runlogs/ROBOT)")
    parser.add_argument(
        "--control", type=Path, metavar="CHECKPOINT", help="a second policy: both act in every scene, in a drawn order"
    )
    parser.add_argument("--arm", choices=["candidate", "control"], help="what CHECKPOINT is called in the log")
    parser.add_argument(
        "--speed",
        type=float,
        default=1.0,
        metavar="S",
        help="velocity and acceleration limits times S, 1 at most",
    )
    parser.add_argument("--limits", type=Path, metavar="FILE", help="a YAML file that narrows the robot's limits")
    parser.add_argument(
        "--ensemble", type=number(-10, 10), metavar="M",
        help="ask for a chunk in every period and average those that overlap, weighted by exp(-M · age)",
    )  # fmt: skip
    parser.add_argument(
        "--outcome", choices=["detector", "ask"], default="detector",
        help="who judges: the robot's detector, or you, by the keys s, f and u (default: detector)",
    )  # fmt: skip
    parser.add_argument(
        "--condition", action="append", default=[], metavar="NAME=VALUE", help="noted with every episode: light=dim"
    )
    parser.add_argument("--task", default="pick_and_place", metavar="T", help="what is to be done (pick_and_place)")
    parser.add_argument("--longest", type=number(0.1, 3600), metavar="S", help="seconds an episode may take at most")
    parser.add_argument(
        "--patience", type=number(0.1, 3600), default=20.0, metavar="S",
        help="for a policy's answer where time stands still meanwhile, as in simulators (default 20)",
    )  # fmt: skip
    parser.add_argument("--stop-file", type=Path, metavar="FILE", help="the e-stop: latched while this file is there")
    parser.add_argument("--reset-stop", action="store_true", help="reset the e-stop first: you have looked")
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="of what policies draw")
    parser.add_argument(
        "--workers", type=count(1, 64), default=1, metavar="N", help="so many rehearsal cells or twins at once"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.deploy import session
    from twinloop.deploy.episode_runner import DeployConfig
    from twinloop.deploy.estop import EStop, stop_file_of
    from twinloop.deploy.keys import HELP, terminal

    if args.control is not None and args.arm is not None:
        raise UsageError("--arm: with --control the policies are called candidate and control")
    if args.outcome == "ask" and not terminal():
        raise UsageError("--outcome ask: needs a terminal to press keys in")
    policies = {args.arm or "": args.checkpoint}
    if args.control is not None:
        policies = {"candidate": args.checkpoint, "control": args.control}
    stop_file = args.stop_file or stop_file_of(args.robot)
    if args.reset_stop:
        EStop(stop_file).reset()
    config = DeployConfig(
        speed=args.speed, limits_file=args.limits, ensemble=args.ensemble, longest_s=args.longest,
        outcome=args.outcome, conditions=conditions(args.condition), patience_s=args.patience, seed=args.seed,
    )  # fmt: skip
    out = args.out or Path("runlogs") / re.sub("[^A-Za-z0-9.]+", "-", args.robot).strip("-")
    attended = terminal() and args.workers == 1
    console.print(f"e-stop: touch {stop_file}, or SIGUSR1{'; ' + HELP if attended else ''}", markup=False)
    with show_progress(console, "deploying") as show:

        def on_progress(standing: session.SessionProgress) -> None:
            told = f"[green]{standing.successes:,} succeeded[/], {standing.aborted:,} aborted"
            show(Progress(standing.done, standing.planned, told))

        deployed = session.deploy(
            policies, args.robot, out, episodes=args.episodes, first=args.first, config=config, stop_file=stop_file,
            workers=args.workers, attended=attended, task=args.task, on_progress=on_progress,
        )  # fmt: skip
    _summarise(console, deployed)
    code = 0 if not deployed.stopped else 130 if "stopped by" in deployed.stopped else 1
    return {
        "path": str(deployed.path),
        "digest": deployed.digest,
        "robot": deployed.robot,
        "planned": deployed.planned,
        "fresh": deployed.fresh,
        "stopped": deployed.stopped,
        "policies": [each.to_json() for each in deployed.tallies],
        "exit_code": code,
    }


def _summarise(console: Console, deployed: Any) -> None:
    from twinloop.deploy.tally import Share, Tally

    def rate(share: Share) -> str:
        low, high = share.interval
        if not share.trials:
            return "–"
        return f"{share.successes / share.trials:.0%} ({low:.0%} to {high:.0%}), {share.successes} of {share.trials}"

    def add(table: Table, each: Tally) -> None:
        table.add_row("policy", f"{each.policy}{f' ({each.arm})' if each.arm else ''}, {each.checkpoint[:12]}")
        table.add_row("success", rate(each.success))
        for name, values in each.conditions.items():
            for value, share in values.items():
                table.add_row(f"  {name}", f"{value}: {rate(share)}")
        for name, many in each.failures.items():
            table.add_row("  failed", f"{many:,} {name.replace('_', ' ') or 'in no known way'}")
        for name, many in each.aborted.items():
            table.add_row("  aborted", f"{many:,} {name.replace('_', ' ')}")
        if each.unknown:
            table.add_row("  unknown", f"{each.unknown:,}")
        active = [f"{reason} {many:,}" for reason, (_, many) in each.safety.items() if many]
        table.add_row("safety", f"{', '.join(active) or 'nothing'} changed, of {each.periods:,} control periods")
        table.add_row("deadlines", f"{each.late:,} missed; {each.robot_s:,.0f} s of robot time")
        if each.interventions:
            table.add_row("humans", f"stepped in {each.interventions:,} times")

    table = Table(show_header=False, box=None, pad_edge=False)
    for each in deployed.tallies:
        add(table, each)
    table.add_row("runlog", str(deployed.path))
    console.print()
    console.print(table)
    if deployed.stopped:
        console.print(f"ended early: {deployed.stopped}", markup=False)
