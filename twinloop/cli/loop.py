"""Round after round: generate, train, promote through the gate, act on the robot, diagnose, re-randomize, collect and
fine-tune, until the target is reached or the rounds are over. Each round is a folder with everything in it. The same
command continues after a kill, and after a person has done what the loop waits for (exit code 5)."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import CONFIG_HELP, add_workers, comma_separated, config_of, count, number
from twinloop.cli.training import KINDS, need_torch, policy_settings_help, use_threads
from twinloop.errors import UsageError
from twinloop.fleet.executor import executor_of

EXAMPLES = """\
examples:
  twinloop loop --robot rehearsal:hard --simulated
  twinloop loop cell.yaml --robot rehearsal:harsh --simulated --rounds 3 --budget 200 --out loops/harsh
  twinloop loop cell.yaml --robot rehearsal:harsh --ungated --objects cube,tower,can --inputs observation.estimate
  twinloop loop cell.yaml --robot lerobot:arm.yaml       # waits for people; the same command continues
"""
STRATEGIES = {
    "diagnose": "adapt ranges and demonstrations to each diagnosis",
    "adr": "automatic domain randomization: widen ranges where the policy succeeds, narrow them where it fails",
    "wide": "the config's ranges unchanged, no real data",
    "blind": "real data without a diagnosis",
    "real": "only real data",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, metavar="FILE", help=CONFIG_HELP)
    parser.add_argument("--robot", required=True, metavar="NAME", help="robot, as for `twinloop deploy`")
    parser.add_argument(
        "--rounds", type=count(0, 100), metavar="K", help="rounds after the first (default 3, or as --schedule has)"
    )
    parser.add_argument(
        "--target",
        type=number(0, 1),
        default=0.9,
        metavar="S",
        help="success rate on the robot at which to stop (default 0.9)",
    )
    parser.add_argument(
        "--budget",
        type=count(0, 1 << 20),
        default=200,
        metavar="N",
        help="real demonstrations over all rounds (default 200)",
    )
    parser.add_argument(
        "--schedule", default="", metavar="N,...",
        help="real demonstrations in total after each round, such as 10,25,50,100 (default: equal parts of the budget)",
    )  # fmt: skip
    parser.add_argument(
        "--trials", type=count(8), default=40, metavar="N", help="episodes on the robot per round (default 40)"
    )
    parser.add_argument(
        "--objects", default="", metavar="NAME,...", help="object kinds in the scene (default: the config's)"
    )
    parser.add_argument(
        "--episodes", type=count(), default=2000, metavar="N", help="simulated episodes per round (default 2000)"
    )
    parser.add_argument(
        "--steps", type=count(), default=3000, metavar="N", help="steps of the first training (default 3000)"
    )
    parser.add_argument(
        "--finetune-steps",
        type=count(),
        default=1500,
        metavar="N",
        help="steps of fine-tuning in each later round (default 1500)",
    )
    parser.add_argument("--policy", choices=KINDS, default="mlp", help="kind of policy (default: mlp)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="setting of the policy, listed below; repeatable",
    )
    parser.add_argument("--inputs", default="", metavar="NAME,...", help="observations that the policy reads")
    parser.add_argument(
        "--strategy", choices=tuple(STRATEGIES), default="diagnose",
        help="; ".join(f"{name}: {meaning}" for name, meaning in STRATEGIES.items()),
    )  # fmt: skip
    parser.add_argument(
        "--demonstrator",
        choices=("human-like", "script"),
        default="human-like",
        help="scripted demonstrator with human-like imperfections, or without (default: human-like)",
    )
    parser.add_argument(
        "--demonstrator-sees", choices=("readings", "scene"), default="readings",
        help="what it sees: the robot's readings, or the scene itself as a person does, which only rehearsal cells "
        "have (default: readings)",
    )  # fmt: skip
    parser.add_argument(
        "--simulated", action="store_true",
        help="the robot is a twin or rehearsal cell: ask no person; the gate still decides",
    )  # fmt: skip
    parser.add_argument(
        "--ungated",
        action="store_true",
        help="deploy without the gate, at full speed; only on simulated robots",
    )
    parser.add_argument("--rules", default="", metavar="FILE", help="rules of the gate (default: the embedded rules)")
    parser.add_argument(
        "--registry", default="", metavar="DIR", help="folder of the registry (default: one in the loop's folder)"
    )
    parser.add_argument(
        "--evaluation-episodes",
        type=count(),
        default=200,
        metavar="N",
        help="evaluation episodes in the twin per object kind (default 200)",
    )
    parser.add_argument(
        "--cells", type=count(1, 16), default=3, metavar="N",
        help="sizes at which a diagnosis simulates each possible error (default 3)",
    )  # fmt: skip
    parser.add_argument(
        "--cell-episodes",
        type=count(4, 4096),
        default=16,
        metavar="N",
        help="episodes in each counterfactual cell (default 16)",
    )
    parser.add_argument(
        "--seed", type=count(0, (1 << 62) - 1), default=None, metavar="N", help="seed of data and training"
    )
    add_workers(parser, help="number of simulating processes and of parallel rehearsal cells (default 2)")
    parser.add_argument("--threads", type=count(1, 1024), default=1, metavar="N", help="torch threads (default 1)")
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
    from twinloop.pipeline.loop import LoopConfig, WaitingError, run_loop

    config, name = config_of(args)
    schedule = tuple(_numbers(args.schedule))
    usual_rounds = len(schedule) - (args.strategy == "real") if schedule else LoopConfig.rounds
    settings = LoopConfig(
        robot=args.robot, strategy=args.strategy, rounds=usual_rounds if args.rounds is None else args.rounds,
        target=args.target, budget=schedule[-1] if schedule else args.budget, schedule=schedule,
        trials=args.trials, objects=comma_separated(args.objects), episodes=args.episodes, steps=args.steps,
        finetune_steps=args.finetune_steps,
        policy=args.policy, inputs=comma_separated(args.inputs),
        settings=parse_settings(args.set, POLICIES[args.policy].default_settings()),
        demonstrator=args.demonstrator, demonstrator_sees=args.demonstrator_sees,
        gated=not args.ungated, simulated=args.simulated or args.ungated,
        rules=args.rules, registry=args.registry, evaluation_episodes=args.evaluation_episodes,
        cells=args.cells, cell_episodes=args.cell_episodes,
        seed=LoopConfig.seed if args.seed is None else args.seed, workers=args.workers or LoopConfig.workers,
    )  # fmt: skip
    out = args.out or Path("loops") / name
    try:
        result = run_loop(
            config, settings, out, executor=executor_of(args.executor, args.address), ask=_ask(console),
            on_step=lambda number, step: console.print(f"round {number}: {step}", markup=False),
        )  # fmt: skip
    except WaitingError as waiting:
        return _waiting(console, out, args.robot, waiting)
    for loop_round in result.rounds:
        diagnosis = out / f"round-{loop_round.number}" / "diagnosis"
        if (diagnosis / "report.json").exists():
            write_diagnosis_page(diagnosis / "report.html", read_report(diagnosis))
    page = write_loop_page(out / "loop.html", result, settings.target)
    table = Table("round", "demonstrations", "in the twin", "on the robot", "open gaps", box=None, pad_edge=False)
    for loop_round in result.rounds:
        table.add_row(
            str(loop_round.number),
            str(loop_round.demonstrations),
            _share(loop_round.twin),
            _share(loop_round.robot),
            ", ".join(loop_round.open_gaps),
        )
    console.print(table, markup=False)
    console.print(f"{result.why}\npage: {page}", markup=False)
    return {
        "path": str(out), "page": str(page), "reached": result.reached, "why": result.why,
        "rounds": [asdict(loop_round) for loop_round in result.rounds],
    }  # fmt: skip


def _numbers(text: str) -> list[int]:
    words = comma_separated(text)
    for word in words:
        if not word.isdecimal():
            raise UsageError(f"--schedule: {word!r} is not a whole number; give for example 10,25,50,100")
    return [int(word) for word in words]


def _waiting(console: Console, out: Path, robot: str, waiting: Any) -> dict[str, Any]:
    """Say what the loop waits for, and write the checklist."""
    from twinloop.dashboard.checklist import write_checklist_page
    from twinloop.deploy.plan_file import read_plan

    number = waiting.question.removeprefix("collect-")
    folder = out / ("round-0/before" if number == "-1" else f"round-{number}")
    requests = read_plan(folder / "requests.json") if waiting.question.startswith("collect-") else ()
    page = write_checklist_page(
        out / "waiting.html", robot=robot, text=waiting.text, commands=waiting.commands, requests=requests
    )
    console.print(str(waiting), markup=False)
    for command in waiting.commands:
        console.print(f"  {command}", markup=False)
    console.print(f"checklist: {page}", markup=False)
    return {
        "path": str(out), "waiting": waiting.question, "text": waiting.text, "commands": list(waiting.commands),
        "page": str(page), "exit_code": waiting.exit_code,
    }  # fmt: skip


def _ask(console: Console) -> Callable[[str], bool | None]:
    """Ask at the terminal; without one nobody can be asked."""
    from twinloop.deploy.keys import terminal

    def ask(question: str) -> bool | None:
        return console.input(f"{question} [y/n] ").strip().lower() in ("y", "yes") if terminal() else None

    return ask


def _share(rate: Any) -> str:
    return f"{rate['successes']}/{rate['trials']} ({rate['low']:.0%} to {rate['high']:.0%})"
