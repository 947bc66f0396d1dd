"""Find out which of the eight gaps costs a policy its success on a robot, and how much. The robot's episodes are
compared with simulations of the policy in the twin with each gap opened. Writes report.json and report.html."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_workers, count
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.training import need_torch
from twinloop.dashboard.diagnosis import write_diagnosis_page
from twinloop.diagnose.report import GapReport
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import UsageError
from twinloop.fleet.executor import executor_of
from twinloop.learn.candidate import Candidate, candidate_of, home_config
from twinloop.pipeline.diagnose import DiagnoseConfig, diagnose
from twinloop.run.config import RunConfig, load_config
from twinloop.run.default import NAME, embedded_config

if TYPE_CHECKING:
    from twinloop.diagnose.runlog_pictures import PictureDiagnosis

EXAMPLES = """\
examples:
  twinloop diagnose runlogs/cell-3 --policy policies/first
  twinloop diagnose runlogs/monday runlogs/tuesday --twin cell.yaml --policy policies/first --out diagnoses/first
  twinloop diagnose runlogs/cell-3 --policy policies/first --cells 4 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    usual = DiagnoseConfig()
    parser.add_argument("runlogs", nargs="+", type=Path, metavar="RUNLOG", help="folders that `twinloop deploy` wrote")
    parser.add_argument(
        "--policy",
        type=Path,
        required=True,
        metavar="CHECKPOINT",
        help="the policy to diagnose",
    )
    parser.add_argument(
        "--twin", type=Path, metavar="FILE",
        help="config file (default: the config of the training data, or the embedded pick-and-place cell)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: diagnoses/NAME)")
    parser.add_argument(
        "--cells", type=count(1, 16), default=usual.cells, metavar="N",
        help=f"sizes at which each possible error is simulated (default {usual.cells})",
    )  # fmt: skip
    parser.add_argument(
        "--episodes", type=count(4, 4096), default=usual.episodes, metavar="N",
        help=f"episodes in each (default {usual.episodes})",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=count(0, (1 << 62) - 1), default=usual.seed, metavar="N", help="seed of the counterfactuals"
    )
    add_workers(parser)
    parser.add_argument(
        "--cache", type=Path, default=Path("diagnoses") / "banks", metavar="DIR",
        help="folder of simulated counterfactuals, reused by the next diagnosis (default: diagnoses/banks)",
    )  # fmt: skip


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch()
    candidate = candidate_of(args.policy)
    config, name = _twin(args.twin, candidate)
    if args.seed in candidate.seeds:
        raise UsageError(f"--seed {args.seed}: {candidate.name} was trained on episodes of this seed; choose another")
    episodes = args.episodes
    settings = DiagnoseConfig(cells=args.cells, episodes=episodes, check_episodes=3 * episodes, seed=args.seed)
    with show_progress(console, "Simulating counterfactual cells") as show:
        report = diagnose(
            args.runlogs, candidate, config, config_name=name, cache=args.cache, settings=settings,
            workers=args.workers, executor=executor_of(args.executor, args.address),
            on_progress=lambda done, total: show(Progress(done, total, "")),
        )  # fmt: skip
    out = args.out or Path("diagnoses") / candidate.name
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"
        replace_file(out / "report.json", text.encode(), scratch=out)
    pictures = _pictures(args, config, console)
    if pictures:
        text = json.dumps([result.to_json() for result in pictures], indent=1) + "\n"
        replace_file(out / "pictures.json", text.encode(), scratch=out)
    page = write_diagnosis_page(out / "report.html", report, pictures)
    _print(console, report)
    console.print(f"\nreport: {page}", markup=False)
    _print_pictures(console, pictures)
    images = [result.to_json() for result in pictures]
    return {"path": str(out), "page": str(page), **report.to_json(), "pictures": images}


def _pictures(args: argparse.Namespace, config: RunConfig, console: Console) -> "tuple[PictureDiagnosis, ...]":
    """Compare images where the twin has cameras; runlogs without them have nothing to compare."""
    if not config.cameras:
        return ()
    # Importing the renderer takes a second, and only configs with cameras need it.
    from twinloop.diagnose.runlog_pictures import diagnose_pictures

    with show_progress(console, "Comparing images") as show:
        return diagnose_pictures(
            args.runlogs, config, seed=args.seed, on_camera=lambda done, total: show(Progress(done, total, "cameras"))
        )


def _print_pictures(console: Console, pictures: "tuple[PictureDiagnosis, ...]") -> None:
    for result in pictures:
        gap, (low, high) = result.gap, result.gap.interval
        clear = ", ".join(
            f"{row.column} {row.value:.3g} ({row.low:.3g} to {row.high:.3g})"
            for row in result.explanation.rows[:5]
            if row.is_clear
        )
        console.print(
            f"images of {gap.camera}: MMD {gap.mmd:.2f} ({low:.2f} to {high:.2f}), p {gap.p_value:.3f}; "
            f"rows that explain it: {clear or 'none'}",
            markup=False,
        )


def _twin(path: Path | None, candidate: Candidate) -> tuple[RunConfig, str]:
    if path is not None:
        return load_config(path), path.stem
    return home_config(candidate) or (embedded_config(), NAME)


def _print(console: Console, report: GapReport) -> None:
    console.print(report.verdict(), markup=False)
    table = Table(
        "gap",
        "costs (points)",
        "90 % interval",
        "probability",
        "differs",
        "estimated values",
        box=None,
        pad_edge=False,
    )
    for finding in report.findings:
        low, high = finding.interval
        rows = ", ".join(f"{row.row} {'±' if row.spread else ''}{row.value:.3g}" for row in finding.rows[:2])
        table.add_row(
            finding.gap, f"{finding.points:.0f}", f"{low:.0f} to {high:.0f}", f"{finding.probability:.2f}",
            f"{finding.differs:.2f}", rows,
        )  # fmt: skip
    console.print(table, markup=False)
    for look in report.looks[:3]:
        if look["corrected"] < 0.05:
            these, others = look["these"], look["others"]
            console.print(
                f"{look['about']} {look['kind']}: {these['successes']}/{these['trials']} against "
                f"{others['successes']}/{others['trials']} (p {look['corrected']:.3f}, corrected)",
                markup=False,
            )
    if report.unmodelled.present:
        traits = ", ".join(evidence.trait for evidence in report.unmodelled.strange) or "the pattern as a whole"
        episodes = ", ".join(f"{log} {attempt}" for log, attempt in report.unmodelled.episodes[:4])
        console.print(f"unmodelled: {traits}; look at {episodes}", markup=False)
