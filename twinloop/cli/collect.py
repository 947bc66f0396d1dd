"""Collect demonstrations on a robot into a runlog, a dataset with `source: real`. On a twin or a rehearsal cell they
come from a scripted demonstrator with human-like imperfections, on hardware from teleoperation. Every demonstration is
committed as it ends, failed and aborted ones too. The same command continues after a stop."""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import add_consent, add_session, conditions, consent_of, count
from twinloop.cli.progress import Progress, show_progress
from twinloop.errors import UsageError, nearest

EXAMPLES = """\
examples:
  twinloop collect --robot rehearsal:mild --episodes 50 --workers 2 --out runlogs/mild
  twinloop collect --robot rehearsal:harsh --episodes 20 --condition object=can --tries 3
  twinloop collect --robot lerobot:so101.yaml --episodes 30 --participant P017 --consent p017.yaml
  twinloop collect --plan plan.json --out runlogs/plan
"""

EPISODES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", metavar="R", help="robot: twin, rehearsal:CELL or lerobot:CONFIG.yaml")
    parser.add_argument(
        "--plan", type=Path, metavar="FILE",
        help='a JSON list of {"robot": ..., "episodes": ..., "conditions": {...}}, instead of --robot',
    )  # fmt: skip
    parser.add_argument(
        "--episodes", type=count(), metavar="N",
        help=f"number of episodes, including those already in the log (default {EPISODES})",
    )  # fmt: skip
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="runlog to write; a folder of runlogs if a plan has several robots (default: runlogs/collected-ROBOT)",
    )
    parser.add_argument("--first", type=count(0), default=0, metavar="K", help="number of the first scene (default 0)")
    parser.add_argument(
        "--tries", type=count(1, 100), default=1, metavar="T", help="tries per episode, until one succeeds (default 1)"
    )
    parser.add_argument(
        "--condition", action="append", default=[], metavar="NAME=VALUE",
        help="condition to record with every episode; if the robot reports it, other scenes are skipped; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--task", metavar="T", help="task (default: the one that the robot is set up for, else pick_and_place)"
    )
    add_consent(parser, role="the demonstrator")
    parser.add_argument(
        "--demonstrator", choices=["human-like", "script"], default="human-like",
        help="on twins and cells: scripted, with or without human-like imperfections (default: human-like)",
    )  # fmt: skip
    parser.add_argument(
        "--sees", choices=["readings", "scene"], default="readings",
        help="what the scripted demonstrator sees: the robot's readings, or the scene itself as a person does, which "
        "only rehearsal cells have (default: readings)",
    )  # fmt: skip
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="S", help="factor on the velocity limits, at most 1 (default 1)"
    )
    parser.add_argument("--limits", type=Path, metavar="FILE", help="YAML file that narrows the robot's limits")
    add_session(parser, seed_of="the demonstrator")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.deploy.collect import CollectConfig, CollectResult, collect
    from twinloop.deploy.estop import EStop, stop_file_of
    from twinloop.deploy.imperfection import ImperfectionConfig
    from twinloop.deploy.keys import HELP_LEADING, terminal
    from twinloop.deploy.plan_file import CollectionRequest, read_plan
    from twinloop.twin.tasks import tasks

    if (args.robot is None) == (args.plan is None):
        raise UsageError("give either --robot or --plan")
    if args.task is not None and args.task not in tasks():
        raise UsageError(f"--task {args.task!r}: {nearest(args.task, tasks())}")
    task = None if args.task is None else tasks()[args.task]
    if args.plan is not None and (args.episodes is not None or args.first):
        raise UsageError("--plan: the plan sets the number of episodes; remove --episodes and --first")
    config = CollectConfig(
        tries=args.tries, conditions=conditions(args.condition), consent=consent_of(args), speed=args.speed,
        imperfection=ImperfectionConfig() if args.demonstrator == "human-like" else None,
        limits_file=args.limits, seed=args.seed, sees=args.sees,
    )  # fmt: skip
    requests = (
        read_plan(args.plan) if args.plan else (CollectionRequest(args.robot, args.episodes or EPISODES, args.first),)
    )
    several = len({request.robot for request in requests}) > 1
    done: list[CollectResult] = []
    for request in requests:
        folder = "collected-" + re.sub("[^A-Za-z0-9.]+", "-", request.robot).strip("-")
        out = args.out / folder if args.out and several else args.out or Path("runlogs") / folder
        stop_file = args.stop_file or stop_file_of(request.robot)
        if args.reset_stop:
            EStop(stop_file).reset()
        attended = terminal() and args.workers == 1
        keys = f"; {HELP_LEADING}" if attended else ""
        console.print(f"{request.robot}: e-stop: touch {stop_file}, or SIGUSR1{keys}", markup=False)
        with show_progress(console, "collecting") as show:
            done.append(
                collect(
                    request.robot, out, episodes=request.episodes, first=request.first, stop_file=stop_file,
                    config=replace(config, conditions={**config.conditions, **request.conditions}),
                    workers=args.workers, attended=attended, task=task,
                    on_progress=lambda at: show(
                        Progress(at.done, at.planned, f"[green]{at.successes:,} succeeded[/], {at.aborted:,} aborted")
                    ),
                )
            )  # fmt: skip
        _print_result(console, done[-1])
        if done[-1].stopped:
            break
    stopped = done[-1].stopped
    return {
        "runlogs": [_json(result) for result in done],
        "planned": sum(result.episodes for result in requests),
        "succeeded": sum(result.succeeded for result in done),
        "stopped": stopped,
        "exit_code": 0 if not stopped else 130 if "stopped by" in stopped else 1,
    }


def _print_result(console: Console, done: Any) -> None:
    fresh = f", {done.fresh} new demonstrations" if done.fresh else ", all from earlier sessions"
    console.print(f"{done.succeeded} of {done.planned} episodes demonstrated{fresh}")
    if done.tally is not None:
        for name, number in {**done.tally.failures, **done.tally.aborted}.items():
            console.print(f"  {number} {name.replace('_', ' ') or 'failed'}")
    console.print(f"runlog: {done.path}, digest {done.digest}", markup=False)
    if done.stopped:
        console.print(f"stopped early: {done.stopped}", markup=False)


def _json(done: Any) -> dict[str, Any]:
    return {
        "path": str(done.path), "digest": done.digest, "robot": done.robot, "planned": done.planned,
        "succeeded": done.succeeded, "fresh": done.fresh, "stopped": done.stopped,
        "tally": done.tally.to_json() if done.tally is not None else None,
    }  # fmt: skip
