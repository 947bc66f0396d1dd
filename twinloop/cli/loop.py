"""Round after round: generate, train, ask the gate, act on the robot, diagnose, re-randomize, collect and fine-tune,
until the target is reached or the rounds are over. Each round is a folder with everything in it; killed, it goes on."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import CONFIG_HELP, add_workers, config_of, count, number, words
from twinloop.cli.training import KINDS, need_torch, policy_settings_help, use_threads
from twinloop.errors import UsageError
from twinloop.fleet.executor import executor_of

EXAMPLES = """\
examples:
  twinloop loop --robot rehearsal:hard
  twinloop loop cell.yaml --robot rehearsal:harsh --rounds 3 --budget 200 --out loops/harsh
  twinloop loop cell.yaml --robot rehearsal:harsh --objects cube,tower,can --inputs observation.estimate
  twinloop loop cell.yaml --robot rehearsal:seed=17 --strategy adr --json
"""
STRATEGIES = {
    "diagnose": "ranges and demonstrations by what each diagnosis finds",
    "adr": "automatic domain randomization: widen what the policy holds, draw back where it breaks",
    "wide": "the config's ranges as they are, and no real data",
    "blind": "real data, undiagnosed",
    "real": "real data alone",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, metavar="FILE", help=CONFIG_HELP)
    parser.add_argument("--robot", required=True, metavar="NAME", help="as `twinloop deploy` names it")
    parser.add_argument("--rounds", type=count(0, 100), default=3, metavar="K", help="after the first (default 3)")
    parser.add_argument(
        "--target", type=number(0, 1), default=0.9, metavar="S", help="success on the robot that is enough (0.9)"
    )
    parser.add_argument(
        "--budget", type=count(0, 1 << 20), default=200, metavar="N", help="real demonstrations in all (200)"
    )
    parser.add_argument("--trials", type=count(8), default=40, metavar="N", help="episodes on the robot a round (40)")
    parser.add_argument(
        "--objects", default="", metavar="NAME,...", help="kinds of things that lie there (default: the config's)"
    )
    parser.add_argument("--episodes", type=count(), default=2000, metavar="N", help="simulated, a round (2000)")
    parser.add_argument("--steps", type=count(), default=3000, metavar="N", help="of the first training (3000)")
    parser.add_argument(
        "--tuning", type=count(), default=1500, metavar="N", help="steps of fine-tuning in each round after it (1500)"
    )
    parser.add_argument("--policy", choices=KINDS, default="mlp", help="kind of policy (mlp)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the policy, listed below"
    )
    parser.add_argument("--inputs", default="", metavar="NAME,...", help="observations to read")
    parser.add_argument(
        "--strategy", choices=tuple(STRATEGIES), default="diagnose",
        help="; ".join(f"{name}: {told}" for name, told in STRATEGIES.items()),
    )  # fmt: skip
    parser.add_argument(
        "--demonstrator", choices=("human-like", "script"), default="human-like", help="who demonstrates (human-like)"
    )
    parser.add_argument(
        "--ungated", action="store_true", help="let policies act that the gate holds back; for rehearsal cells only"
    )
    parser.add_argument(
        "--judged", type=count(), default=200, metavar="N", help="episodes in the twin, of each kind of object (200)"
    )
    parser.add_argument(
        "--worlds", type=count(4, 4096), default=24, metavar="N", help="counterfactual cells for each gap (24)"
    )
    parser.add_argument(
        "--imagined", type=count(4, 4096), default=16, metavar="N", help="episodes in each of those (16)"
    )
    parser.add_argument("--seed", type=count(0, (1 << 62) - 1), default=None, metavar="N", help="of data and training")
    add_workers(parser, help="processes that simulate, and rehearsal cells side by side (default 2)")
    parser.add_argument("--threads", type=count(1, 1024), default=1, metavar="N", help="of training (default 1)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: loops/NAME)")


def more_help() -> str:
    return policy_settings_help()


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    use_threads(args.threads)
    from dataclasses import asdict

    from twinloop.dashboard.diagnosis import write_diagnosis_page
    from twinloop.dashboard.loop import write_loop_page
    from twinloop.diagnose.report import read_report
    from twinloop.learn.policies import POLICIES
    from twinloop.learn.training_job import parse_settings
    from twinloop.pipeline.loop import LoopConfig, run_loop

    if args.ungated and not args.robot.startswith(("rehearsal:", "twin")):
        raise UsageError(f"--ungated: {args.robot} is no rehearsal cell; on hardware the gate decides")
    config, name = config_of(args)
    settings = LoopConfig(
        robot=args.robot, strategy=args.strategy, rounds=args.rounds, target=args.target, budget=args.budget,
        trials=args.trials, objects=words(args.objects), episodes=args.episodes, steps=args.steps, tuning=args.tuning,
        policy=args.policy, inputs=words(args.inputs),
        settings=parse_settings(args.set, POLICIES[args.policy].default_settings()),
        demonstrator=args.demonstrator, gated=not args.ungated, judged=args.judged,
        worlds=args.worlds, imagined=args.imagined,
        seed=LoopConfig.seed if args.seed is None else args.seed, workers=args.workers or LoopConfig.workers,
    )  # fmt: skip
    out = args.out or Path("loops") / name
    result = run_loop(
        config, settings, out, executor=executor_of(args.executor, args.address),
        on_step=lambda number, told: console.print(f"round {number}: {told}", markup=False),
    )  # fmt: skip
    for each in result.rounds:
        diagnosis = out / f"round-{each.number}" / "diagnosis"
        if (diagnosis / "report.json").exists():
            write_diagnosis_page(diagnosis / "report.html", read_report(diagnosis))
    page = write_loop_page(out / "loop.html", result, settings.target)
    table = Table("round", "demonstrations", "in the twin", "on the robot", "found", box=None, pad_edge=False)
    for each in result.rounds:
        table.add_row(
            str(each.number), str(each.demonstrations), _share(each.twin), _share(each.robot), ", ".join(each.found)
        )
    console.print(table, markup=False)
    console.print(f"{result.why}\npage: {page}", markup=False)
    return {
        "path": str(out), "page": str(page), "reached": result.reached, "why": result.why,
        "rounds": [asdict(each) for each in result.rounds],
    }  # fmt: skip


def _share(rate: Any) -> str:
    return f"{rate['successes']}/{rate['trials']} ({rate['low']:.0%} to {rate['high']:.0%})"
