"""Simulate, curate and write a dataset. The same command continues after a kill."""

import argparse
import shlex
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import (
    add_backend,
    add_config,
    add_patch,
    add_workers,
    config_of,
    count,
    engine_of,
    location,
    names_of,
    patch_of,
)
from twinloop.cli.early_report import EarlyReport
from twinloop.cli.progress import Progress, show_progress
from twinloop.dataset import Dataset, count_rejected, describe
from twinloop.dataset.progress import GenerateProgress
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.fetch import mirror
from twinloop.dataset.shard import EPISODES
from twinloop.errors import UsageError
from twinloop.fleet.executor import executor_of
from twinloop.pipeline.generate import Generated, generate
from twinloop.run.mobile import MobileConfig
from twinloop.twin.robots import robots
from twinloop.twin.task_checks import unfit
from twinloop.twin.tasks import tasks

if TYPE_CHECKING:
    from twinloop.run.config import RunConfig

EXAMPLES = """\
examples:
  twinloop generate
  twinloop generate cell.yaml --episodes 500
  twinloop generate cell.yaml --episodes 500 --seed 7 --out datasets/cell-7 --workers 4
  twinloop generate cell.yaml --keep-rejected --json
  twinloop generate cell.yaml --curator curation/cell               # with a learned filter: see twinloop curate
  twinloop generate --task stack --robot xarm7
  twinloop generate --tasks stack,put_in_drawer --episodes 1000     # one dataset with both, in equal shares
  twinloop generate --tasks all --robots all --episodes 10000       # a dataset per robot
  twinloop generate cell.yaml --executor ray --address auto         # on the cluster this machine belongs to
  twinloop generate cell.yaml --executor ray --address auto --out s3://bucket/run
  twinloop generate cell.yaml --patch patch.yaml --out datasets/fitted   # over ranges fitted to logs
  twinloop generate --fill datasets/cell --episodes 500 --out datasets/cell-fill   # more where it is thin
  twinloop generate cell.yaml --backend warp                             # on a GPU
"""

SHARD_OF_SEVERAL = 16
"""Episodes per shard with --tasks. A shard holds episodes of one task, so small shards keep the shares exact."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    add_patch(parser)
    parser.add_argument(
        "--fill", nargs="+", type=location, metavar="DATASET",
        help="make episodes where these datasets of one config have few; the config is derived from theirs",
    )  # fmt: skip
    parser.add_argument("--tasks", metavar="NAMES", help="several tasks in equal shares: names with commas, or all")
    parser.add_argument(
        "--robots", metavar="NAMES", help="a dataset per robot, in a folder each: names with commas, or all"
    )
    parser.add_argument(
        "--episodes", type=count(), metavar="N", help="number of episodes (default: parallel_envs × episodes_per_env)"
    )
    parser.add_argument(
        "--out", type=location, metavar="DIR", help="dataset folder, or s3://bucket/run (default: datasets/NAME)"
    )
    parser.add_argument(
        "--single-writer",
        action="store_true",
        help="for an --out without atomic creation (sftp://, hdfs://, ...): confirm that only this run writes "
        "there (docs/scale.md)",
    )
    add_workers(parser)
    add_backend(parser)
    parser.add_argument(
        "--keep-rejected",
        action="store_true",
        help="also store the frames of rejected episodes",
    )
    parser.add_argument(
        "--curator",
        type=Path,
        metavar="FILE",
        help="also reject episodes that this curator finds implausible (see twinloop curate)",
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    if args.robots is None:
        return _run(args, console)
    if args.robot_name is not None:
        raise UsageError("--robots and --robot: give one of them")
    if args.out is not None and not isinstance(args.out, Path):
        raise UsageError(f"--out {args.out}: with --robots only a folder can be given")
    names = names_of(args.robots, robots(), "--robots")
    if args.robots == "all":
        names = [name for name in names if _can_do_anything(name, args)]
    # The episodes are those of all datasets together.
    episodes = args.episodes and -(-args.episodes // len(names))
    made = {}
    for name in names:
        console.print(f"[bold]{name}[/bold]")
        out = (args.out or Path("datasets") / "robots") / name
        own = argparse.Namespace(**{**vars(args), "robot_name": name, "out": out, "episodes": episodes})
        made[name] = _run(own, console)
    return {"robots": made}


def _can_do_anything(robot: str, args: argparse.Namespace) -> bool:
    """Whether a robot can do one of the tasks of a run."""
    wanted = tasks() if args.tasks is not None else {args.task or config_of(args)[0].scene.task.name: None}
    return any(not unfit(tasks()[name], robots()[robot]) for name in wanted)


def _tasks_for(config: "RunConfig", text: str, console: Console) -> list[str]:
    """The tasks that were named. Of `all`, those that the robot can do; the others are printed."""
    names = names_of(text, tasks(), "--tasks")
    if text != "all":
        return names
    reasons = {name: unfit(tasks()[name], config.scene.robot) for name in names}
    for reason in filter(None, reasons.values()):
        console.print(f"left out: {reason}", markup=False)
    return [name for name in names if not reasons[name]]


def _filling(args: argparse.Namespace) -> "tuple[RunConfig, str]":
    """The config of a run that fills datasets, and its name."""
    from twinloop.dataset.worth import filled_config

    others = {"FILE": args.config, "--tasks": args.tasks, "--task": args.task, "--robot": args.robot_name,
              "--patch": args.patch}  # fmt: skip
    for option, value in others.items():
        if value is not None:
            raise UsageError(f"--fill takes the config from the dataset; remove {option} {value}")
    if args.episodes is None:
        raise UsageError("--fill: give the number of attempts with --episodes")
    config = filled_config(args.fill, episodes=args.episodes)
    name = f"{args.fill[0].name}-fill"
    return (config if args.seed is None else config.with_seed(args.seed)), name


def _mobile(config: MobileConfig, out: Path | Remote, args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Rollouts of a robot with legs or wheels, with its scripted expert."""
    from twinloop.dataset.mobile import generate_mobile, local_folder

    folder, episodes = local_folder(out), args.episodes or config.rollout.episodes
    with show_progress(console, "generating") as show:
        digest = generate_mobile(
            config, folder, episodes=episodes, on_shard=lambda done, total: show(Progress(done, total, "episodes"))
        )
    facts = describe(folder)
    rejected = facts["episodes"]["rejected"]
    ends = ", ".join(f"{count:,} {name}" for name, count in rejected.items())
    console.print(f"{folder}: {episodes:,} episodes{f' ({ends})' if ends else ''}; digest {digest}", markup=False)
    return {"episodes": episodes, "rejected": rejected, "digest": digest, "path": str(folder)}


def _run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    config, name = config_of(args) if args.fill is None else _filling(args)
    if args.tasks is not None:
        if args.task is not None:
            raise UsageError("--tasks and --task: give one of them")
        config = config.with_tasks(_tasks_for(config, args.tasks, console))
        if config.dataset.shard_episodes > SHARD_OF_SEVERAL:
            config = replace(config, dataset=replace(config.dataset, shard_episodes=SHARD_OF_SEVERAL))
        name = f"{name}-tasks"
    patch = patch_of(args)
    if patch is not None:
        from twinloop.calibrate.apply_patch import patched

        config = patched(config, patch, name=str(args.patch), config_name=str(args.config or "the config"))
    out = args.out or Path("datasets") / name
    if isinstance(config, MobileConfig):
        return _mobile(config, out, args, console)
    for own in config.by_task.values():
        reason = unfit(own.scene.world, own.scene.robot)
        if reason:
            raise UsageError(f"scene: {reason}")
    if isinstance(out, Remote):
        out = replace(out, single_writer=args.single_writer)
    # An object store has no report.
    early = EarlyReport(out, args.workers) if isinstance(out, Path) else None
    with show_progress(console, "generating") as show, early or nullcontext():

        def on_progress(progress: GenerateProgress) -> None:
            show(_as_progress(progress))
            if early is not None:
                early.on_progress(progress)

        generated = generate(
            config,
            out,
            episodes=args.episodes,
            workers=args.workers,
            keep_rejected=args.keep_rejected,
            curator=args.curator,
            executor=executor_of(args.executor, args.address),
            engine=engine_of(args),
            on_progress=on_progress,
            on_committed=early.on_committed if early is not None else lambda _: None,
        )
    # From an object store only the episode tables are copied, which is enough to count rejected episodes.
    local = out if isinstance(out, Path) else mirror(out, only=[EPISODES])
    dataset = Dataset.open(local)
    rejected = count_rejected(dataset)
    report = early.write() if early is not None else None
    _summarise(console, generated, rejected, dataset.frame_count / dataset.header.fps / 3600, report)
    progress = generated.progress
    if args.curator is not None and not progress.accepted:
        from twinloop.dataset.curator_verdicts import refuse_all_implausible

        refuse_all_implausible(local, args.curator)
    return {
        "episodes": progress.attempted,
        "accepted": progress.accepted,
        "rejected": rejected,
        "frames": progress.frames,
        "seconds": round(progress.seconds, 3),
        "trajectories_per_second": round(progress.trajectories_per_second, 2),
        "digest": generated.digest,
        "path": str(out),
        "report": str(report) if report else None,
        "workers": generated.workers,
    }


def _as_progress(progress: GenerateProgress) -> Progress:
    counts = f"[green]{progress.accepted:,} accepted[/], [red]{progress.rejected:,} rejected[/]"
    return Progress(progress.attempted, progress.planned, f"{counts}, {progress.trajectories_per_second:.1f}/s")


def _summarise(
    console: Console, generated: Generated, rejected: dict[str, int], hours: float, report: Path | None
) -> None:
    progress, path = generated.progress, generated.path
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("episodes", f"{progress.attempted:,}, {progress.accepted:,} accepted")
    for reason, number in rejected.items():
        table.add_row("", f"{number:,} rejected: {reason}")
    table.add_row("frames", f"{progress.frames:,} ({hours:.2f} h of robot time)")
    if progress.fresh:
        table.add_row(
            "speed",
            f"{progress.trajectories_per_second:.1f} trajectories/s "
            f"({progress.fresh:,} in {progress.seconds:.1f} s, {generated.workers} workers)",
        )
    else:
        table.add_row("speed", "nothing to do: the dataset is complete")
    table.add_row("digest", generated.digest)
    table.add_row("dataset", str(path))
    if report is not None:
        table.add_row("report", str(report))
    console.print()
    console.print(table)
    folder = shlex.quote(str(path))
    # In an environment that is not activated, twinloop is not on the path, so show the program as it was called.
    program = "twinloop" if shutil.which("twinloop") else shlex.quote(sys.argv[0])
    console.print("\nNext:")
    for command in (
        f"{program} info {folder}",
        f'{program} query {folder} "select verdict, count(*) from attempts group by verdict"',
        f"{program} verify {folder}",
        *([f"{program} train {folder} --out {shlex.quote(f'policies/{path.name}')}"] if progress.accepted else []),
    ):
        console.print(f"  {command}", markup=False)
