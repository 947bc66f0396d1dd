"""Evaluate: from a checkpoint to an Evaluation: the policy acts in the twin, batched, on draws it has not seen."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from twinloop.dataset.versions import versions
from twinloop.errors import UsageError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate import Evaluation, Subject
from twinloop.gate.outcomes import joined
from twinloop.gate.rollouts import EvaluationJob, try_out
from twinloop.learn.candidate import Candidate, refuse_misfit
from twinloop.learn.chunks import ActingConfig
from twinloop.pipeline.generate import default_workers, refuse_together, width_of
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig, refuse_unsupported

FIRST_SEED = 1_000_000
"""Seeds of evaluations are looked for from here on, far from those that people give their runs."""

PART = 16  # episodes that are handed to a worker at once


@dataclass(frozen=True)
class TrialProgress:
    planned: int
    attempted: int
    succeeded: int
    seconds: float

    @property
    def episodes_per_second(self) -> float:
        return self.attempted / self.seconds if self.seconds > 0 else 0.0


def unseen_seed(*candidates: Candidate) -> int:
    """The first that none of these was trained on."""
    seen = frozenset[int]().union(*(candidate.seeds for candidate in candidates))
    seed = FIRST_SEED
    while seed in seen:
        seed += 1
    return seed


def evaluate(
    candidate: Candidate,
    config: RunConfig,
    *,
    config_name: str,
    episodes: int,
    workers: int | None = None,
    acting: ActingConfig = ActingConfig(),  # noqa: B008
    executor: Executor = LOCAL,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    on_progress: Callable[[TrialProgress], None] = lambda _: None,
) -> Evaluation:
    """Let the policy act in episodes 0 to `episodes` of the config's run, whose seed must be new to it."""
    seed = config.rollout.seed
    if seed in candidate.seeds:
        raise UsageError(
            f"seed {seed}: {candidate.name} was trained on episodes of this seed; what it does there says little about "
            f"new ones. Choose another, e.g. --seed {unseen_seed(candidate)}"
        )
    refuse_together(engine, executor)
    twin = twin_of(config)
    refuse_misfit(candidate, config, twin, config_name=config_name)
    refuse_unsupported(engine, twin, config.randomization)
    ranges = [(first, min(first + PART, episodes)) for first in range(0, episodes, PART)]
    workers = max(1, min(workers or default_workers(engine, executor), len(ranges)))
    trial = EvaluationJob(
        config_yaml=config.to_yaml(),
        folder=str(Path.cwd()),
        load=candidate.load,
        acting=acting,
        width=min(width_of(config, workers, engine=engine), -(-episodes // workers)),
        engine=engine,
    )
    began, parts, succeeded = time.perf_counter(), [], 0
    for _, part in executor.run(try_out, trial, ranges, workers=workers):
        parts.append(part)
        succeeded += int(part.success.sum())
        attempted = sum(map(len, parts))
        on_progress(TrialProgress(episodes, attempted, succeeded, time.perf_counter() - began))
    subject = Subject(
        checkpoint=candidate.name,
        checkpoint_digest=candidate.digest,
        policy=candidate.policy,
        config_name=config_name,
        config_digest=config.digest,
        robot=twin.robot.name,
        task=twin.instruction,
        phases=tuple(phase.name for phase in twin.task.phases),
        seed=seed,
        ensemble=acting.ensemble,
        versions=versions((), films=False, engine=engine),
    )
    return Evaluation(subject, joined(parts))
