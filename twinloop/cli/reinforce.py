"""Train a policy by reinforcement learning in the randomized twin, or improve a trained one. Run the same command again
to continue. The result is an ordinary checkpoint: evaluate, promote, deploy and export it like any other."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from twinloop.cli.arguments import add_workers, config_of, count, engine_of, number
from twinloop.cli.progress import Progress, show_progress
from twinloop.cli.training import need_torch
from twinloop.errors import RenderError, UsageError
from twinloop.fleet.executor import Executor, executor_of

EXAMPLES = """\
examples:
  twinloop reinforce cell.yaml --out policies/press
  twinloop reinforce cell.yaml --task push_to_goal --iterations 500 --until 0.95 --out policies/push
  twinloop reinforce cell.yaml --from policies/cloned --leash 0.02 --out policies/tuned     # improve a cloned policy
  twinloop reinforce cell.yaml --algorithm sac --demonstrations datasets/demo --out policies/sac
  twinloop reinforce cell.yaml --algorithm distill --from policies/teacher --out policies/student
  twinloop reinforce quadruped.yaml --algorithm imitate --out policies/cloned    # the robot's scripted expert
  twinloop reinforce cell.yaml --widen --out policies/wide        # automatic domain randomization
  twinloop reinforce cell.yaml --seeds 3 --json --out policies/three
  twinloop reinforce cell.yaml --executor ray --address auto --shards 16 --envs 2048 --out policies/large
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", type=Path, metavar="FILE", help="config file; its section `environment` "
                        "chooses observations and rewards (default: the embedded pick-and-place cell)")  # fmt: skip
    parser.add_argument("--task", metavar="NAME", help="one of the config's tasks, or another task")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write the checkpoint to")
    parser.add_argument("--algorithm", choices=("ppo", "sac", "distill", "imitate"), default="ppo",
                        help="training algorithm (default: ppo)")  # fmt: skip
    parser.add_argument(
        "--from", dest="parent", type=Path, metavar="CHECKPOINT",
        help="mlp policy to improve; with `distill`, the teacher to imitate",
    )  # fmt: skip
    parser.add_argument(
        "--iterations", type=count(1, 10_000_000), metavar="N", help="number of updates (default: of the recipe)"
    )
    parser.add_argument(
        "--envs", type=count(1, 65_536), metavar="N", help="number of environments (default: 128 for arms)"
    )
    parser.add_argument("--steps", type=count(1, 100_000), metavar="N", help="steps of each environment per update")
    parser.add_argument("--learning-rate", type=number(0, 1), metavar="R", help="learning rate of the optimiser")
    parser.add_argument("--noise", type=number(0, 5), metavar="S", help="initial exploration, in normalised actions")
    parser.add_argument("--leash", type=number(0, 1000), metavar="W", help="weight of the KL divergence from --from")
    parser.add_argument("--until", type=number(0, 1), default=0.0, metavar="S", help="stop at this success rate")
    parser.add_argument("--patience", type=count(0), default=0, metavar="N",
                        help="stop after N iterations without a better reward")  # fmt: skip
    parser.add_argument("--save-every", type=count(1), metavar="N", help="iterations between checkpoints (default: 10)")
    parser.add_argument("--widen", action="store_true", help="automatic domain randomization: widen each row's range "
                        "while the policy succeeds at its ends")  # fmt: skip
    parser.add_argument("--demonstrations", type=Path, metavar="DATASET", help="dataset for the replay buffer of sac")
    parser.add_argument("--seed", type=count(0, (1 << 63) - 1), default=0, metavar="N", help="seed (default: 0)")
    parser.add_argument(
        "--seeds", type=count(1, 100), default=1, metavar="N", help="train N policies and evaluate each"
    )
    parser.add_argument("--episodes", type=count(), default=100, metavar="N", help="episodes per evaluation of --seeds")
    parser.add_argument("--films", type=count(0, 100), default=1, metavar="N", help="episodes to film (default: 1)")
    parser.add_argument("--threads", type=count(1, 1024), metavar="N", help="threads of physics and torch")
    parser.add_argument(
        "--backend", choices=("cpu", "warp"), default="cpu",
        help="engine: MuJoCo on the CPU (default), or MuJoCo Warp, for GPUs (docs/gpu.md)",
    )  # fmt: skip
    parser.add_argument("--device", metavar="NAME", help="device of torch and Warp: cuda:0, cpu (default: cpu)")
    parser.add_argument(
        "--shards", type=count(1, 65_536), metavar="N",
        help="divide the environments of ppo into N parts, which workers simulate (default: one per worker). The "
        "result depends on N, not on the number of workers",
    )  # fmt: skip
    add_workers(parser, help="with --executor ray: number of workers (default: one per core)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    need_torch("rl")
    _need_rl()
    import torch

    from twinloop.gate.several_seeds import reinforce_seeds
    from twinloop.learn.checkpoint import load
    from twinloop.learn.reinforce.start import reinforce
    from twinloop.simulate.engine import EngineConfig

    if args.threads:
        torch.set_num_threads(args.threads)
    run_config, _ = config_of(args)
    executor = _executor(args)
    config = _settings(args, run_config, executor)
    parent = load(args.parent) if args.parent else None
    common: dict[str, Any] = {
        "parent": parent, "demonstrations": args.demonstrations, "threads": args.threads,
        "device": args.device or "cpu", "engine": EngineConfig() if args.backend == "cpu" else engine_of(args),
        "executor": executor, "workers": args.workers,
    }  # fmt: skip
    with show_progress(console, "Iteration") as show:

        def update(record: Any) -> None:
            show(Progress(record.iteration, config.iterations, _described(record)))

        if args.seeds > 1:
            results, summary = reinforce_seeds(
                run_config, args.out, config, seeds=args.seeds, episodes=args.episodes, on_iteration=update, **common
            )
        else:
            results, summary = [reinforce(run_config, args.out, config, on_iteration=update, **common)], None
    films = [path for result in results for path in _films(run_config, result.checkpoint.path, args.films, console)]
    return _report(console, results, summary, films)


def _need_rl() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("gymnasium", "rsl_rl", "stable_baselines3") if find_spec(name) is None]
    if missing:
        raise UsageError(f"reinforcement needs {', '.join(missing)}: pip install 'twinloop[rl]'")


def _executor(args: argparse.Namespace) -> Executor:
    if args.executor == "local" and args.workers is not None:
        raise UsageError(f"--workers {args.workers}: belongs to --executor ray; on this machine use --threads")
    return executor_of(args.executor, args.address)


def _settings(args: argparse.Namespace, run_config: Any, executor: Executor) -> Any:
    from twinloop.learn.reinforce.recipes import recipe

    base = recipe(run_config, args.algorithm, improves=args.parent is not None)
    given = {
        "iterations": args.iterations, "num_envs": args.envs, "steps": args.steps, "noise": args.noise,
        "learning_rate": args.learning_rate, "leash": args.leash, "save_every": args.save_every, "shards": args.shards,
    }  # fmt: skip
    if args.shards is None and args.executor != "local":
        given["shards"] = args.workers or executor.capacity()
    return replace(
        base, algorithm=args.algorithm, seed=args.seed, until=args.until, patience=args.patience, widen=args.widen,
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip


def _described(record: Any) -> str:
    success = "-" if record.success is None else f"{record.success:.0%}"
    terms = ", ".join(f"{name} {value:+.4f}" for name, value in record.terms.items())
    return f"success {success}, reward {record.reward:+.4f} ({terms}), {record.periods:,} control periods"


def _films(run_config: Any, checkpoint: Path, wanted: int, console: Console) -> list[Path]:
    from twinloop.gate.several_seeds import film_policy

    try:
        return film_policy(run_config, checkpoint, count=wanted) if wanted else []
    except (RenderError, UsageError) as error:
        console.print(f"No films: {error}", markup=False)
        return []


def _report(console: Console, results: list[Any], summary: Any, films: list[Path]) -> dict[str, Any]:
    policies = []
    for result in results:
        card, last = result.checkpoint.card, result.curve[-1]
        table = Table(show_header=False, box=None, pad_edge=False)
        stopped = f"; stopped early: {result.stopped}" if result.stopped else ""
        table.add_row("policy", f"{card.policy}, {card.steps:,} iterations{stopped}")
        table.add_row("experience", f"{last.periods:,} control periods")
        success = "-" if last.success is None else f"{last.success:.0%} of the last episodes, with exploration noise"
        table.add_row("success", success)
        for name, value in last.terms.items():
            table.add_row(f"  {name}", f"{value:+.5f}")
        if result.resumed_from:
            table.add_row("resumed", f"from iteration {result.resumed_from:,}")
        table.add_row("digest", card.digest)
        table.add_row("checkpoint", str(result.checkpoint.path))
        console.print(table)
        policies.append({
            "path": str(result.checkpoint.path), "digest": card.digest, "iterations": card.steps,
            "periods": last.periods, "reward": last.reward, "reward_terms": last.terms, "success": last.success,
            "resumed_from": result.resumed_from, "stopped": result.stopped,
        })  # fmt: skip
    for path in films:
        console.print(f"film: {path}", markup=False)
    report: dict[str, Any] = {"policies": policies, "films": [str(path) for path in films]}
    if summary is not None:
        console.print(
            f"success over {len(summary.success)} seeds: {summary.mean:.0%} ({summary.low:.0%} to {summary.high:.0%})"
        )
        report["seeds"] = {
            "success": {str(seed): value for seed, value in summary.success.items()}, "episodes": summary.episodes,
            "mean": summary.mean, "low": summary.low, "high": summary.high,
        }  # fmt: skip
    console.print(f"\nNext:\n  twinloop evaluate {shlex.quote(policies[0]['path'])}", markup=False)
    return report
