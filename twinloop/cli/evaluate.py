"""Roll out a policy in the twin on held-out draws. Reports success rates with intervals, by phase and by randomized
parameter, the completion time, and videos of failures. Writes a folder: evaluation.json, episodes.parquet, report.html
and clips."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_backend, add_workers, config_of, count, engine_of, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.training import need_torch
from twinloop.dashboard.charts.rates import rate_text
from twinloop.dashboard.evaluation import difference_text, write_evaluation_report
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.report_sections.success import fall_sentence
from twinloop.errors import RenderError, UsageError
from twinloop.fleet.executor import executor_of
from twinloop.gate import Comparison, Evaluation, compare, load_evaluation, write_evaluation
from twinloop.gate.clips import film
from twinloop.gate.evaluate import TrialProgress, evaluate, unseen_seed
from twinloop.gate.evaluation import EVALUATION
from twinloop.learn.candidate import Candidate, candidate_of, home_config
from twinloop.learn.chunks import ActingConfig
from twinloop.run.config import RunConfig
from twinloop.run.mobile import MobileConfig
from twinloop.simulate.engine import EngineConfig

EXAMPLES = """\
examples:
  twinloop evaluate policies/first
  twinloop evaluate policies/first cell.yaml --episodes 500 --out evaluations/first
  twinloop evaluate policies/second --against policies/first        # both, on the same draws
  twinloop evaluate policies/third --against evaluations/first      # on the draws of that evaluation
  twinloop evaluate policies/first --ensemble 0.1 --clips 8 --json
  twinloop evaluate policies/first --episodes 5000 --executor ray --address auto
"""

EPISODES = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a folder that `twinloop train` wrote")
    parser.add_argument(
        "config", nargs="?", type=Path, metavar="FILE",
        help="config file (default: the config of the training data, or the embedded pick-and-place cell)",
    )  # fmt: skip
    parser.add_argument("--task", metavar="NAME", help="one of the config's tasks, or another task")
    parser.add_argument("--episodes", type=count(), metavar="N", help=f"number of episodes (default {EPISODES})")
    parser.add_argument(
        "--seed",
        type=count(0, (1 << 63) - 1),
        metavar="N",
        help="run seed (default: a seed that is not in the training data)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: evaluations/NAME)")
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="a checkpoint or an evaluation to compare with, on the same draws"
    )
    parser.add_argument(
        "--clips", type=count(0, 100), default=4, metavar="N", help="number of failures to record as videos (default 4)"
    )
    parser.add_argument(
        "--ensemble", type=number(-10, 10), metavar="M",
        help="run inference in every period and average overlapping action chunks, weighted by exp(-M · age)",
    )  # fmt: skip
    add_workers(parser)
    add_backend(parser)


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    executor = executor_of(args.executor, args.address)
    engine = engine_of(args)
    candidate = candidate_of(args.checkpoint)
    rival = theirs = None
    if args.against is not None:
        if (args.against / EVALUATION).exists():
            theirs = load_evaluation(args.against)
        else:
            rival = candidate_of(args.against)
    config, name = _config(args, candidate, console)
    seed = args.seed
    if seed is None:
        both = [candidate] if rival is None else [candidate, rival]
        seed = theirs.subject.seed if theirs is not None else unseen_seed(*both)
    config = config.with_seed(seed)
    episodes = args.episodes or (len(theirs.outcomes) if theirs is not None else EPISODES)
    out = args.out or Path("evaluations") / candidate.name
    acting = ActingConfig(args.ensemble)

    speeds: list[float] = []

    def judged(policy: Candidate) -> Evaluation:
        with show_progress(console, f"evaluating {policy.name}") as show:

            def on_progress(progress: TrialProgress) -> None:
                speeds.append(progress.episodes_per_second)
                counts = f"[green]{progress.succeeded:,} succeeded[/], {speeds[-1]:.1f}/s"
                show(Progress(progress.attempted, progress.planned, counts))

            return evaluate(
                policy, config, config_name=name, episodes=episodes, workers=args.workers, acting=acting,
                engine=engine, executor=executor, on_progress=on_progress,
            )  # fmt: skip

    ours = judged(candidate)
    speed = speeds[-1]
    write_evaluation(ours, out)
    if rival is not None:
        theirs = judged(rival)
        write_evaluation(theirs, out / "against")
    comparison = compare(ours, theirs) if theirs is not None else None
    clips = _film(candidate, config, ours, out, console, most=args.clips, acting=acting, engine=engine)
    report = write_evaluation_report(ours, out, comparison=comparison, clips=clips)
    _summarise(console, ours, comparison, speed, report)
    return {
        "path": str(out),
        "report": str(report),
        "checkpoint": ours.subject.checkpoint_digest,
        "config_digest": ours.subject.config_digest,
        "seed": seed,
        **ours.results(),
        "episodes_per_second": round(speed, 2),
        "clips": [str(path) for path in clips.values()],
        "comparison": comparison.to_json() if comparison is not None else None,
    }


def _config(args: argparse.Namespace, candidate: Candidate, console: Console) -> tuple[RunConfig, str]:
    home = home_config(candidate) if args.config is None else None
    if home is not None:
        config, name = home
        return (config, name) if args.task is None else (config.with_task(args.task), f"{name}-{args.task}")
    config, name = config_of(args)
    if args.config is None and config.digest not in {digest for _, digest in candidate.runs}:
        console.print(f"The config of the training data was not found; the embedded cell {name} is used.")
    return config, name


def _film(
    candidate: Candidate,
    config: RunConfig,
    ours: Evaluation,
    out: Path,
    console: Console,
    *,
    most: int,
    acting: ActingConfig,
    engine: EngineConfig,
) -> dict[int, Path]:
    if isinstance(config, MobileConfig):
        return {}  # `twinloop generate` and `view` show episodes of these robots
    failed = ours.outcomes.attempt[~ours.outcomes.success][:most].tolist()
    try:
        return film(candidate, config, failed, out, acting=acting, engine=engine)
    except (RenderError, UsageError) as error:
        console.print(f"No videos of failures: {error}", markup=False)
        return {}


def _summarise(console: Console, ours: Evaluation, comparison: Comparison | None, speed: float, report: Path) -> None:
    subject, success = ours.subject, ours.success
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("policy", f"{subject.checkpoint} ({subject.policy}), {subject.config_name}, seed {subject.seed}")
    table.add_row("success", f"{rate_text(success)}, {success.successes:,} of {success.trials:,}")
    for phase in ours.phases:
        if phase.rate.trials and phase.rate.successes < phase.rate.trials:
            table.add_row(f"  {phase.name}", f"{rate_text(phase.rate)} of the episodes that reached it")
    if ours.completion_s:
        table.add_row(
            "completion", f"{ours.completion_s[0.5]:.2f} s median, 95 % within {ours.completion_s[0.95]:.2f} s"
        )
    for failure, occurrences in ours.failures.items():
        table.add_row("  failed", f"{occurrences:,} {failure.replace('_', ' ')}")
    for reason, occurrences in ours.violations.items():
        table.add_row("", f"{occurrences:,} {reason_label(reason)}")
    for parameter in ours.parameters:
        if parameter.fall:
            table.add_row("", fall_sentence(parameter))
    if comparison is not None:
        theirs = comparison.theirs
        table.add_row("against", f"{theirs.checkpoint}: {rate_text(comparison.their_success)} of {comparison.trials:,}")
        table.add_row("difference", difference_text(comparison))
    table.add_row("speed", f"{speed:.1f} episodes/s")
    table.add_row("report", str(report))
    console.print()
    console.print(table)
