"""Generate a dataset, and explain a config before it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from twinloop.api.arguments import ConfigLike, PathOrStr, executor_named, named_config
from twinloop.dataset.mobile import generate_mobile, local_folder
from twinloop.dataset.progress import GenerateProgress
from twinloop.dataset.reader import Dataset
from twinloop.dataset.remote.address import place
from twinloop.fleet.executor import Executor
from twinloop.pipeline import explain as _explain
from twinloop.pipeline import generate as _generate
from twinloop.run.config import RunConfig
from twinloop.run.mobile import MobileConfig


def generate(
    config: ConfigLike | None = None,
    out: PathOrStr | None = None,
    *,
    episodes: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    keep_rejected: bool = False,
    executor: str | Executor = "local",
    on_progress: Callable[[GenerateProgress], None] | None = None,
) -> Dataset:
    """Simulate, curate and write a dataset. Called again with the same arguments, it continues an unfinished one.

    Args:
        config: a config or its file. Default: the embedded pick-and-place cell.
        out: the dataset's folder, or an address such as `s3://bucket/run`. Default: `datasets/NAME`.
        episodes: number of episodes. Default: `parallel_envs` × `episodes_per_env` of the config.
        seed: run seed. Default: the config's.
        workers: number of processes. Default: one per core.
        keep_rejected: also store the frames of rejected episodes, with their verdict.
        executor: where the work runs: `"local"`, `"ray"`, or the name of an executor plugin.
        on_progress: called after every committed shard.

    Returns:
        The dataset, open for reading.

    Example:
        >>> dataset = tl.generate("cell.yaml", "datasets/demo", episodes=48)
        >>> batch = next(dataset.transitions(256, seed=0))
        >>> batch.action.shape
        (256, 8)
    """
    run_config, name = named_config(config)
    if seed is not None:
        run_config = run_config.with_seed(seed)
    target = place(str(out)) if out is not None else Path("datasets") / name
    if isinstance(run_config, MobileConfig):
        generate_mobile(run_config, local_folder(target), episodes=episodes or run_config.rollout.episodes)
        return Dataset.open(target)
    _generate.generate(
        run_config,
        target,
        episodes=episodes,
        workers=workers,
        keep_rejected=keep_rejected,
        executor=executor_named(executor),
        on_progress=on_progress or (lambda _: None),
    )
    return Dataset.open(target)


@dataclass(frozen=True)
class RunExplanation:
    """The plan of a run.

    Attributes:
        config: the config with every default filled in.
        rows: the parameters that vary, with their distributions.
        episodes: number of episodes of the run.
        estimate: time, disk space and share of accepted episodes, from a probe; None without a probe.
    """

    config: RunConfig
    rows: tuple[_explain.Varied, ...]
    episodes: int
    estimate: _explain.CostEstimate | None


def explain(
    config: ConfigLike | None = None,
    *,
    episodes: int | None = None,
    workers: int | None = None,
    probe: bool = True,
) -> RunExplanation:
    """Say what a config will do: its resolved form, what varies, and what the run will cost.

    Args:
        config: a config or its file. Default: the embedded pick-and-place cell.
        episodes: number of episodes to plan for. Default: the config's.
        workers: number of processes to plan for. Default: one per core.
        probe: simulate a few episodes to estimate time, disk space and acceptance.

    Example:
        >>> explanation = tl.explain("cell.yaml", probe=False)
        >>> [row.name for row in explanation.rows]
        ['object_mass_kg', 'friction_coefficient', 'object_position_noise_cm']
    """
    run_config, _ = named_config(config)
    total = run_config.rollout.episodes if episodes is None else episodes
    return RunExplanation(
        config=run_config,
        rows=tuple(_explain.varied(run_config)),
        episodes=total,
        estimate=_explain.estimate(run_config, total, workers) if probe else None,
    )
