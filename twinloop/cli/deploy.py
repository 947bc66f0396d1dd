"""Run a policy on a robot, or two in turns: at a fixed rate, behind a safety filter that knows the robot's limits, with
an e-stop. On hardware the policy must be in canary or production, and the decision of the gate sets its limits. Every
episode is committed to a runlog, a dataset with `source: real`, as it ends; the same command continues a session."""

import argparse
import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_session, conditions, count, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.registry import add_registry
from twinloop.errors import UsageError

EXAMPLES = """\
examples:
  twinloop deploy production --robot lerobot:arm.yaml --episodes 20
  twinloop deploy canary --robot lerobot:arm.yaml --episodes 10       # slowly, with an operator at the terminal
  twinloop deploy policies/first --robot rehearsal:nominal --episodes 20   # ungated: no evidence for production
  twinloop deploy policies/first.onnx --robot twin --episodes 5 --out runlogs/twin
  twinloop deploy policies/walk --robot twin:examples/quadruped.yaml --episodes 10
  twinloop deploy policies/second --control policies/first --robot rehearsal:harsh --episodes 50 --workers 2
  twinloop deploy policies/first --robot rehearsal:mild --episodes 10 --speed 0.5 --condition light=dim
  twinloop deploy canary --robot lerobot:arm.yaml --takeover leader   # t: take over with the leader arm
  twinloop deploy policies/first --robot rehearsal:mild --episodes 10 --reset-stop     # after an e-stop
"""

EPISODES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "policy", metavar="POLICY",
        help="entry of the registry: `production`, `canary`, or the first digits of a digest. For twins and rehearsal "
        "cells also a checkpoint folder of `twinloop train`, or an ONNX file of `twinloop export`",
    )  # fmt: skip
    parser.add_argument(
        "--robot",
        required=True,
        metavar="R",
        help="robot: twin, twin:CONFIG.yaml, rehearsal:CELL or lerobot:CONFIG.yaml",
    )
    parser.add_argument(
        "--episodes", type=count(), default=EPISODES, metavar="N",
        help=f"number of scenes per policy, including those already in the log (default {EPISODES})",
    )  # fmt: skip
    parser.add_argument("--first", type=count(0), default=0, metavar="K", help="number of the first scene (default 0)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="runlog to write (default: runlogs/ROBOT)")
    parser.add_argument("--control", metavar="POLICY", help="second policy; both run in every scene, in random order")
    parser.add_argument("--arm", choices=["candidate", "control"], help="arm of POLICY in the log")
    parser.add_argument(
        "--speed",
        type=float,
        metavar="S",
        help="factor on the velocity and acceleration limits (default: as much as the decision of the gate allows)",
    )
    parser.add_argument("--limits", type=Path, metavar="FILE", help="YAML file that narrows the robot's limits")
    parser.add_argument(
        "--ensemble", type=number(-10, 10), metavar="M",
        help="run inference in every period and average overlapping action chunks, weighted by exp(-M · age)",
    )  # fmt: skip
    parser.add_argument(
        "--outcome", choices=["detector", "ask"], default="detector",
        help="source of the outcome: the robot's detector, or the operator (keys s, f, u) (default: detector)",
    )  # fmt: skip
    parser.add_argument(
        "--takeover", choices=["leader", "keys"],
        help="device with which the operator takes over after the key t: the leader arm of the robot's file, or keys",
    )  # fmt: skip
    parser.add_argument(
        "--condition",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="condition to record with every episode, for example light=dim; repeatable",
    )
    parser.add_argument(
        "--task", metavar="T", help="task (default: the one that the robot is set up for, else pick_and_place)"
    )
    parser.add_argument(
        "--episode-timeout", type=number(0.1, 3600), metavar="S", help="maximum duration of an episode in seconds"
    )
    parser.add_argument(
        "--inference-timeout", type=number(0.1, 3600), default=20.0, metavar="S",
        help="timeout of one inference in seconds, on robots that wait for it, such as simulators (default 20)",
    )  # fmt: skip
    add_registry(parser)
    add_session(parser, seed_of="random policies")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.deploy import session
    from twinloop.deploy.episode_runner import DeployConfig
    from twinloop.deploy.estop import EStop, stop_file_of
    from twinloop.deploy.keys import HELP, HELP_TAKEOVER, terminal
    from twinloop.deploy.takeover import HELP_KEYS
    from twinloop.gate.permit import policy_named

    if args.control is not None and args.arm is not None:
        raise UsageError("--arm: cannot be combined with --control, which sets the arms itself")
    if args.outcome == "ask" and not terminal():
        raise UsageError("--outcome ask: needs a terminal")
    attended = terminal() and args.workers == 1
    if args.takeover is not None and not attended:
        raise UsageError(f"--takeover {args.takeover}: needs an operator at a terminal, and one worker")
    policies = {args.arm or "": policy_named(args.policy, args.registry)}
    if args.control is not None:
        policies = {
            "candidate": policy_named(args.policy, args.registry),
            "control": policy_named(args.control, args.registry),
        }
    stop_file = args.stop_file or stop_file_of(args.robot)
    if args.reset_stop:
        EStop(stop_file).reset()
    config = DeployConfig(
        speed=args.speed, limits_file=args.limits, ensemble=args.ensemble, episode_timeout_s=args.episode_timeout,
        takeover=args.takeover, outcome=args.outcome, conditions=conditions(args.condition),
        inference_timeout_s=args.inference_timeout, seed=args.seed,
    )  # fmt: skip
    out = args.out or Path("runlogs") / re.sub("[^A-Za-z0-9.]+", "-", args.robot).strip("-")
    keys = {None: HELP, "leader": HELP_TAKEOVER, "keys": f"{HELP_TAKEOVER} · {HELP_KEYS}"}[args.takeover]
    console.print(f"e-stop: touch {stop_file}, or SIGUSR1{'; ' + keys if attended else ''}", markup=False)
    with show_progress(console, "deploying") as show:

        def on_progress(progress: session.SessionProgress) -> None:
            counts = f"[green]{progress.successes:,} succeeded[/], {progress.aborted:,} aborted"
            show(Progress(progress.done, progress.planned, counts))

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
        "policies": [tally.to_json() for tally in deployed.tallies],
        "exit_code": code,
    }


def _summarise(console: Console, deployed: Any) -> None:
    from twinloop.deploy.tally import Share, Tally

    def rate(share: Share) -> str:
        low, high = share.interval
        if not share.trials:
            return "–"
        return f"{share.successes / share.trials:.0%} ({low:.0%} to {high:.0%}), {share.successes} of {share.trials}"

    def add(table: Table, arm: Tally) -> None:
        table.add_row("policy", f"{arm.policy}{f' ({arm.arm})' if arm.arm else ''}, {arm.checkpoint[:12]}")
        table.add_row("success", rate(arm.success))
        for name, values in arm.conditions.items():
            for value, share in values.items():
                table.add_row(f"  {name}", f"{value}: {rate(share)}")
        for name, episodes in arm.failures.items():
            table.add_row("  failed", f"{episodes:,} {name.replace('_', ' ') or 'for an unknown reason'}")
        for name, episodes in arm.aborted.items():
            table.add_row("  aborted", f"{episodes:,} {name.replace('_', ' ')}")
        if arm.unknown:
            table.add_row("  unknown", f"{arm.unknown:,}")
        active = [f"{reason} {periods:,}" for reason, (_, periods) in arm.safety.items() if periods]
        table.add_row("safety", f"{', '.join(active) or 'nothing'} changed, of {arm.periods:,} control periods")
        table.add_row("deadlines", f"{arm.late:,} missed; {arm.robot_s:,.0f} s of robot time")
        if arm.interventions:
            table.add_row("humans", f"{arm.interventions:,} interventions")

    table = Table(show_header=False, box=None, pad_edge=False)
    for tally in deployed.tallies:
        add(table, tally)
    table.add_row("runlog", str(deployed.path))
    console.print()
    console.print(table)
    if deployed.stopped:
        console.print(f"stopped early: {deployed.stopped}", markup=False)
