"""Reinforcement with several seeds: train each, evaluate each on held-out episodes, and give the spread."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.durable import replace_file, storage_errors
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate.clips import film
from twinloop.gate.evaluate import evaluate, unseen_seed
from twinloop.learn.candidate import candidate_of
from twinloop.learn.checkpoint import Checkpoint
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.record import IterationRecord
from twinloop.run.config import RunConfig
from twinloop.simulate.engine import EngineConfig

if TYPE_CHECKING:
    from twinloop.learn.reinforce.training import ReinforceResult

SEEDS = "seeds.json"
CONFIDENCE = 0.95


@dataclass(frozen=True)
class SeedSummary:
    """Success of policies that differ in their seed only, on the same held-out episodes.

    Attributes:
        success: seed -> success rate.
        episodes: episodes of each evaluation.
        low, high: 95 % interval of the mean over seeds (Student's t); equal to the mean for one seed.
    """

    success: dict[int, float]
    episodes: int
    low: float
    high: float

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.success.values())))


def summarise(success: dict[int, float], episodes: int) -> SeedSummary:
    values = np.array(list(success.values()))
    mean, half = float(values.mean()), 0.0
    if len(values) > 1:
        half = float(
            scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        )
    return SeedSummary(success, episodes, max(0.0, mean - half), min(1.0, mean + half))


def reinforce_seeds(
    run: RunConfig,
    out: Path,
    config: ReinforceConfig,
    *,
    seeds: int,
    episodes: int,
    parent: Checkpoint | None = None,
    demonstrations: Path | None = None,
    threads: int | None = None,
    workers: int | None = None,
    device: str = "cpu",
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    executor: Executor = LOCAL,
    on_iteration: Callable[[IterationRecord], None] = lambda _: None,
) -> "tuple[list[ReinforceResult], SeedSummary]":
    """Train `seeds` policies in `out`/seed-N, and evaluate each. `out`/seeds.json has the result."""
    # Imported here, because RL libraries take seconds to import and `summarise` needs none of them.
    from twinloop.learn.reinforce.start import reinforce

    results, success = [], {}
    for seed in range(config.seed, config.seed + seeds):
        results.append(
            reinforce(
                run, out / f"seed-{seed}", replace(config, seed=seed), parent=parent, demonstrations=demonstrations,
                threads=threads, device=device, engine=engine, executor=executor, workers=workers,
                on_iteration=on_iteration,
            )
        )  # fmt: skip
    candidates = [candidate_of(result.checkpoint.path) for result in results]
    held_out = run.with_seed(unseen_seed(*candidates))
    for seed, candidate in enumerate(candidates, start=config.seed):
        evaluation = evaluate(
            candidate, held_out, config_name="reinforcement", episodes=episodes, workers=workers, engine=engine,
            executor=executor,
        )  # fmt: skip
        success[seed] = evaluation.success.value
    summary = summarise(success, episodes)
    content = {"success": success, "episodes": episodes, "mean": summary.mean, "low": summary.low, "high": summary.high}
    with storage_errors(out):
        replace_file(out / SEEDS, (json.dumps(content, indent=2) + "\n").encode(), scratch=out)
    return results, summary


def film_policy(run: RunConfig, checkpoint: Path, *, count: int) -> list[Path]:
    """Film `count` held-out episodes of a policy in `checkpoint`/clips. RenderError without OpenGL."""
    candidate = candidate_of(checkpoint)
    held_out = run.with_seed(unseen_seed(candidate))
    return list(film(candidate, held_out, range(count), checkpoint, acting=ActingConfig()).values())
