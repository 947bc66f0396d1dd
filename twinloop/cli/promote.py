"""Promote a policy as far as the evidence allows: candidate, validated (in the twin), canary (limited trials on a
robot), production. Each step has rules. Each decision is recorded in the registry's ledger with its evidence.

Missing evidence is produced where possible. With --config, the policy and the live policy are evaluated in the twin,
and real trials are repeated there. With --robot and --human-ready, trials are run, candidate and live policy in turns,
until the sequential test has an answer."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from twinloop.cli.arguments import count, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.registry import add_actor, add_registry
from twinloop.cli.training import need_torch
from twinloop.config.record import write_record
from twinloop.dashboard.decision import write_decision_page
from twinloop.dashboard.decision_text import print_decision
from twinloop.gate.case import Canary
from twinloop.gate.promote import Maker, Makers, PromoteConfig, PromotionStep, promote
from twinloop.gate.registry_state import STAGES, stage_named
from twinloop.gate.rules import load_rules
from twinloop.gate.statistics.sequential import TestState

EXAMPLES = """\
examples:
  twinloop promote policies/first --evaluation evaluations/first
  twinloop promote policies/first --config cell.yaml                  # evaluate it first, if needed
  twinloop promote policies/first --to canary --human-ready
  twinloop promote policies/first --runlog runs/canary                # trials on a robot
  twinloop promote policies/second --robot rehearsal:nominal --human-ready
  twinloop promote 3f9a2c71 --to production --json                    # exit code 3 when it is not promoted
"""

NOT_PROMOTED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT",
        help="a folder that `twinloop train` wrote, or the first digits of one in the registry",
    )  # fmt: skip
    parser.add_argument("--to", metavar="STAGE", help=f"last stage to promote to: {', '.join(STAGES[1:])}")
    parser.add_argument(
        "--evaluation", type=Path, action="append", default=[], metavar="DIR",
        help="evaluation folder that `twinloop evaluate` wrote; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--runlog", type=Path, action="append", default=[], metavar="DIR",
        help="runlog that `twinloop deploy` wrote; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, action="append", default=[], metavar="DIR",
        help="folder of a training dataset, or a folder above it; repeatable",
    )  # fmt: skip
    parser.add_argument("--rules", type=Path, metavar="FILE", help="rules file (default: the embedded rules)")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="config of the twin to evaluate and repeat trials in"
    )
    parser.add_argument(
        "--workers", type=count(1, 1024), metavar="N", help="processes for --config (default: one per core)"
    )
    parser.add_argument("--robot", default="", metavar="R", help="robot to run trials on: rehearsal:CELL, twin, ...")
    parser.add_argument(
        "--task", default="pick_and_place", metavar="T", help="task of the trials (default: pick_and_place)"
    )
    parser.add_argument(
        "--speed",
        type=number(0.01, 1),
        metavar="S",
        help="share of the robot's speed in trials (default: from the rules)",
    )
    parser.add_argument(
        "--episodes",
        type=count(),
        metavar="N",
        help="maximum number of the candidate's trials (default: from the rules)",
    )
    parser.add_argument(
        "--human-ready", action="store_true", help="confirm that a person who can stop the robot is ready"
    )
    add_registry(parser)
    add_actor(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from twinloop.deploy.robots import identify_hardware

    rules = load_rules(args.rules)
    canary = Canary(
        args.robot, args.speed or rules.canary.speed, args.episodes or rules.canary.episodes,
        identify_hardware(args.robot),
    )  # fmt: skip
    config = PromoteConfig(
        checkpoint=args.checkpoint, registry=args.registry, rules=rules,
        to=stage_named(args.to) if args.to is not None else None,
        evaluations=tuple(args.evaluation), runlogs=tuple(args.runlog), data=tuple(args.data),
        human_ready=args.human_ready, canary=canary, actor=args.by, key=args.key,
    )  # fmt: skip
    pages: list[str] = []

    def on_step(step: PromotionStep) -> None:
        print_decision(console, step.decision, entered=step.record is not None)
        if step.record is not None:
            pages.append(str(write_decision_page(args.registry, step.record)))
            console.print(f"page: {pages[-1]}", markup=False)

    promotion = promote(config, _makers(args, console), on_step=on_step)
    if not promotion.steps:
        console.print(
            f"{promotion.name} ({promotion.digest[:12]}) is already at stage {promotion.reached}.", markup=False
        )
    return {
        "checkpoint": promotion.digest,
        "name": promotion.name,
        "promoted": promotion.promoted,
        "stage": promotion.reached,
        "live": promotion.registry.production or None,
        "steps": [
            {
                "transition": step.decision.transition,
                "promoted": step.decision.promoted,
                "entered": step.record is not None,
                "verdict": step.decision.sentence,
                "reasons": list(step.decision.reasons),
                "findings": [write_record(finding) for finding in step.decision.findings],
                "record": step.record.digest if step.record else None,
            }
            for step in promotion.steps
        ],
        "pages": pages,
        "exit_code": 0 if promotion.promoted else NOT_PROMOTED,
    }


def _makers(args: argparse.Namespace, console: Console) -> Makers:
    evaluation = runlog = repeats = None
    if args.config is not None:
        need_torch()
        from twinloop.gate.evaluate import TrialProgress
        from twinloop.gate.evidence_makers import evaluation_maker, repeats_maker
        from twinloop.run.config import load_config

        twin = load_config(args.config)

        def show(doing: str):
            return show_progress(console, doing)

        def progress_of(progress: TrialProgress) -> Progress:
            words = f"[green]{progress.succeeded:,} succeeded[/], {progress.episodes_per_second:.1f}/s"
            return Progress(progress.attempted, progress.planned, words)

        evaluation = evaluation_maker(twin, args.config.stem, workers=args.workers, show=show, progress_of=progress_of)
        repeats = repeats_maker(twin, args.config.stem, show=show, progress_of=progress_of)
    if args.robot:
        need_torch()
        runlog = _trials(args, console)
    return Makers(evaluation, runlog, repeats)


def _trials(args: argparse.Namespace, console: Console) -> Maker:
    from twinloop.deploy import session
    from twinloop.deploy.canary import runlog_maker
    from twinloop.deploy.estop import stop_file_of
    from twinloop.deploy.keys import HELP, terminal

    def progress_of(progress: session.SessionProgress, trials: TestState) -> Progress:
        words = f"[green]{progress.successes:,} succeeded[/], {progress.aborted:,} aborted; {trials.decision}"
        return Progress(progress.done, progress.planned, words)

    @contextmanager
    def show(doing: str) -> Iterator[Callable[[Progress], None]]:
        keys = f"; {HELP}" if terminal() else ""
        console.print(f"e-stop: touch {stop_file_of(args.robot)}, or SIGUSR1{keys}", markup=False)
        with show_progress(console, doing) as update:
            yield update

    def on_plan(text: str) -> None:
        console.print(f"Trials: {text}.", markup=False)

    return runlog_maker(
        args.robot, attended=terminal(), show=show, progress_of=progress_of, task=args.task, on_plan=on_plan
    )
