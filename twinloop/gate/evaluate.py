"""Evaluate: checkpoint -> Evaluation. Rolls a policy out in the twin, batched, on held-out draws."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from twinloop.dataset.versions import versions
from twinloop.errors import UsageError
from twinloop.fleet.capacity import default_workers, refuse_together, width_of
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate import Evaluation, Subject
from twinloop.gate.mobile_rollouts import mobile_out, refuse_other_robot
from twinloop.gate.outcomes import joined
from twinloop.gate.rollouts import EvaluationJob, try_out
from twinloop.learn.candidate import Candidate, refuse_misfit
from twinloop.learn.chunks import ActingConfig
from twinloop.run.config import RunConfig
from twinloop.run.mobile import MobileConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig, refuse_unsupported

FIRST_SEED = 1_000_000
"""First seed that evaluations try: far from the small seeds that people choose for training runs."""

RANGE_EPISODES = 16  # episodes per work item


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
    """The first seed that none of the candidates was trained on."""
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
    """Roll the policy out in episodes 0 to `episodes` of the config's run.

    Args:
        candidate: the policy. It must not have been trained on the config's seed.
        config_name: name of the config in the evaluation and in messages.
        workers: processes; one per core by default.
        acting: how action chunks are executed.

    Raises:
        UsageError: the seed is not held out, or the policy does not fit the config or the engine.
    """
    seed = config.rollout.seed
    if seed in candidate.seeds:
        raise UsageError(
            f"seed {seed}: {candidate.name} was trained on episodes of this seed, so it is not held out. "
            f"Choose another, e.g. --seed {unseen_seed(candidate)}"
        )
    refuse_together(engine, executor)
    moves = isinstance(config, MobileConfig)
    if moves:
        refuse_other_robot(candidate, config, config_name=config_name)
        task, phases = config.scene.task.instruction, (config.scene.task.name,)
    else:
        twin = twin_of(config)
        refuse_misfit(candidate, config, twin, config_name=config_name)
        refuse_unsupported(engine, twin, config.randomization)
        task, phases = twin.instruction, twin.task.phase_names
    ranges = [(first, min(first + RANGE_EPISODES, episodes)) for first in range(0, episodes, RANGE_EPISODES)]
    workers = max(1, min(workers or default_workers(engine, executor), len(ranges)))
    job = EvaluationJob(
        config_yaml=config.to_yaml(),
        folder=str(Path.cwd()),
        load=candidate.load,
        acting=acting,
        width=1 if moves else width_of(config, workers, engine=engine, episodes=episodes, live=True),
        engine=engine,
    )
    started, parts, succeeded = time.perf_counter(), [], 0
    for _, part in executor.run(mobile_out if moves else try_out, job, ranges, workers=workers):
        parts.append(part)
        succeeded += int(part.success.sum())
        attempted = sum(map(len, parts))
        on_progress(TrialProgress(episodes, attempted, succeeded, time.perf_counter() - started))
    subject = Subject(
        checkpoint=candidate.name,
        checkpoint_digest=candidate.digest,
        policy=candidate.policy,
        config_name=config_name,
        config_digest=config.digest,
        robot=config.scene.robot.name,
        task=task,
        phases=phases,
        seed=seed,
        ensemble=acting.ensemble,
        versions=versions((), films=False, engine=engine),
    )
    return Evaluation(subject, joined(parts))
