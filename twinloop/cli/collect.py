"""Collect demonstrations on a robot into a runlog, a dataset with `source: real`: on a twin or a rehearsal cell from a
scripted demonstrator with a human's imperfections, on hardware from teleoperation. Every demonstration is committed as
it ends, failed and aborted ones too; the same command goes on where it stopped."""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_consent, conditions, consent_of, count
from twinloop.cli.progress import Progress, show_progress
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop collect --robot rehearsal:mild --episodes 50 --workers 2 --out runlogs/mild
  twinloop collect --robot rehearsal:harsh --episodes 20 --condition object=can --tries 3
  twinloop collect --robot lerobot:so101.yaml --episodes 30 --participant P017 --consent p017.yaml
  twinloop collect --plan plan.json --out runlogs/plan
"""

EPISODES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", metavar="R", help="twin, rehearsal:CELL, lerobot:CONFIG.yaml")
    parser.add_argument(
        "--plan", type=Path, metavar="FILE",
        help='a JSON list of {"robot": ..., "episodes": ..., "conditions": {...}}, in place of --robot',
    )  # fmt: skip
    parser.add_argument(
        "--episodes", type=count(), metavar="N",
        help=f"how many, those in the log already included (default {EPISODES})",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="DIR", help="the runlog (default: runlogs/collected-ROBOT)")
    parser.add_argument("--first", type=count(0), default=0, metavar="K", help="the first scene's number (default 0)")
    parser.add_argument("--tries", type=count(1, 100), default=1, metavar="T", help="for each, until one succeeds (1)")
    parser.add_argument(
        "--condition", action="append", default=[], metavar="NAME=VALUE",
        help="noted with every episode; of what the robot tells itself, only scenes that are so",
    )  # fmt: skip
    add_consent(parser, who="whoever leads")
    parser.add_argument(
        "--demonstrator", choices=["human-like", "script"], default="human-like",
        help="on twins and cells: with or without a human's imperfections (default: with)",
    )  # fmt: skip
    parser.add_argument("--speed", type=float, default=1.0, metavar="S", help="velocity limits times S, 1 at most")
    parser.add_argument("--limits", type=Path, metavar="FILE", help="a YAML file that narrows the robot's limits")
    parser.add_argument("--stop-file", type=Path, metavar="FILE", help="the e-stop: latched while this file is there")
    parser.add_argument("--reset-stop", action="store_true", help="reset the e-stop first: you have looked")
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="of the demonstrator")
    parser.add_argument("--workers", type=count(1, 64), default=1, metavar="N", help="so many cells or twins at once")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.deploy.collect import CollectConfig, CollectResult, collect
    from twinloop.deploy.estop import EStop, stop_file_of
    from twinloop.deploy.imperfection import ImperfectionConfig
    from twinloop.deploy.keys import HELP_LEADING, terminal
    from twinloop.deploy.plan_file import CollectionRequest, read_plan

    if (args.robot is None) == (args.plan is None):
        raise UsageError("name either a --robot or a --plan")
    if args.plan is not None and (args.episodes is not None or args.first):
        raise UsageError("--plan: says itself how many episodes; leave out --episodes and --first")
    config = CollectConfig(
        tries=args.tries, conditions=conditions(args.condition), consent=consent_of(args), speed=args.speed,
        imperfection=ImperfectionConfig() if args.demonstrator == "human-like" else None,
        limits_file=args.limits, seed=args.seed,
    )  # fmt: skip
    errands = (
        read_plan(args.plan) if args.plan else (CollectionRequest(args.robot, args.episodes or EPISODES, args.first),)
    )
    done: list[CollectResult] = []
    for errand in errands:
        folder = "collected-" + re.sub("[^A-Za-z0-9.]+", "-", errand.robot).strip("-")
        out = args.out / folder if args.out and args.plan else args.out or Path("runlogs") / folder
        stop_file = args.stop_file or stop_file_of(errand.robot)
        if args.reset_stop:
            EStop(stop_file).reset()
        attended = terminal() and args.workers == 1
        keys = f"; {HELP_LEADING}" if attended else ""
        console.print(f"{errand.robot}: e-stop: touch {stop_file}, or SIGUSR1{keys}", markup=False)
        with show_progress(console, "collecting") as show:
            done.append(
                collect(
                    errand.robot, out, episodes=errand.episodes, first=errand.first, stop_file=stop_file,
                    config=replace(config, conditions={**config.conditions, **errand.conditions}),
                    workers=args.workers, attended=attended,
                    on_progress=lambda at: show(
                        Progress(at.done, at.planned, f"[green]{at.successes:,} succeeded[/], {at.aborted:,} aborted")
                    ),
                )
            )  # fmt: skip
        _tell(console, done[-1])
        if done[-1].stopped:
            break
    stopped = done[-1].stopped
    return {
        "runlogs": [_json(each) for each in done],
        "planned": sum(each.episodes for each in errands),
        "succeeded": sum(each.succeeded for each in done),
        "stopped": stopped,
        "exit_code": 0 if not stopped else 130 if "stopped by" in stopped else 1,
    }


def _tell(console: Console, done: Any) -> None:
    made = f", {done.fresh} demonstrations made now" if done.fresh else ", all of them there before"
    console.print(f"{done.succeeded} of {done.planned} episodes demonstrated{made}")
    if done.tally is not None:
        for name, many in {**done.tally.failures, **done.tally.aborted}.items():
            console.print(f"  {many} {name.replace('_', ' ') or 'failed'}")
    console.print(f"runlog: {done.path}, digest {done.digest}", markup=False)
    if done.stopped:
        console.print(f"ended early: {done.stopped}", markup=False)


def _json(done: Any) -> dict[str, Any]:
    return {
        "path": str(done.path), "digest": done.digest, "robot": done.robot, "planned": done.planned,
        "succeeded": done.succeeded, "fresh": done.fresh, "stopped": done.stopped,
        "tally": done.tally.to_json() if done.tally is not None else None,
    }  # fmt: skip
