"""Start a training by reinforcement: environments, the first policy, and the algorithm."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from twinloop.environments.arm import ArmEmbodiment
from twinloop.environments.make import vector_env
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.errors import CheckpointError, UsageError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.learn.checkpoint import Checkpoint
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.reinforce.config import ReinforceConfig
from twinloop.learn.reinforce.fresh_policy import fresh_policy, space_of_env
from twinloop.learn.reinforce.record import IterationRecord
from twinloop.learn.reinforce.tool_residual import with_residual
from twinloop.learn.reinforce.training import IterativeTraining, Reinforcement, ReinforceResult
from twinloop.learn.space import table_of
from twinloop.run.config import RunConfig
from twinloop.run.environment import EnvironmentConfig
from twinloop.simulate.engine import EngineConfig

if TYPE_CHECKING:
    from twinloop.learn.reinforce.shards import Workers


def reinforce(
    run: RunConfig,
    out: Path,
    config: ReinforceConfig,
    *,
    parent: Checkpoint | None = None,
    demonstrations: Path | None = None,
    threads: int | None = None,
    device: str = "cpu",
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    executor: Executor = LOCAL,
    workers: int | None = None,
    on_iteration: Callable[[IterationRecord], None] = lambda _: None,
) -> ReinforceResult:
    """Train a policy in the environments of a config, or continue such a training.

    Args:
        parent: a policy to improve (`ppo`) or to imitate (`distill`).
        demonstrations: a dataset for the replay buffer of `sac`.
        threads: of the physics; one per core by default.
        device: of torch.
        executor: where the shards of `ppo` are simulated, if there are several.
        workers: shards that are simulated in parallel; by default as many as the executor can.

    Raises:
        CheckpointError: the parent has other observations, actions or another robot.
        TermError: a term or an observation was not finite. The last saved checkpoint stays.
    """
    if demonstrations is not None and config.algorithm != "sac":
        raise UsageError(f"--demonstrations: {config.algorithm} does not use demonstrations; use --algorithm sac")
    if config.algorithm == "distill" and parent is None:
        raise UsageError("--algorithm distill: needs the policy to imitate; name it with --from")
    _refuse_shards(config)
    if parent is not None and config.algorithm == "ppo":
        run = _observing_like(run, parent)
    env = vector_env(
        run, num_envs=config.num_envs, seed=config.seed, threads=threads, engine=engine,
        curriculum=_curriculum(run, config),
    )  # fmt: skip
    apart = None
    if config.shards > 1:
        from twinloop.learn.reinforce.shards import Workers

        apart = Workers(executor, min(workers or executor.capacity(), config.shards), run, engine)
    training, data = _training(env, run, config, parent, demonstrations, threads, device, apart)
    return Reinforcement(training, run, config, out, parent=parent, data=data).run(on_iteration)


def _curriculum(run: RunConfig, config: ReinforceConfig):
    if not config.widen:
        return None
    from twinloop.learn.reinforce.widening import WideningCurriculum

    return WideningCurriculum(run.randomization, width=config.num_envs, seed=config.seed)


def _training(
    env: VectorTwinEnv, run: RunConfig, config: ReinforceConfig, parent: Checkpoint | None,
    demonstrations: Path | None, threads: int | None, device: str, workers: "Workers | None",
) -> tuple[IterativeTraining, tuple]:  # fmt: skip
    if config.algorithm == "sac":
        from twinloop.learn.reinforce.sac import SacTraining

        fresh = fresh_policy(env, width=config.width, depth=config.depth, bound="tanh", seed=config.seed)
        sac = SacTraining(
            env, fresh, config, run=run, demonstrations=demonstrations, threads=threads, device=device
        )  # fmt: skip
        return sac, sac.data
    fresh = fresh_policy(env, width=config.width, depth=config.depth, bound="clip", seed=config.seed)
    if config.algorithm == "imitate":
        from twinloop.learn.reinforce.imitate import ImitateTraining

        return ImitateTraining(env, fresh, config, device=device), ()
    if config.algorithm == "distill":
        from twinloop.learn.reinforce.distill import DistillTraining

        assert parent is not None
        return DistillTraining(env, fresh, trained_policy(parent), config, device=device), ()
    from twinloop.learn.reinforce.ppo import PpoTraining

    if parent is None:
        return PpoTraining(env, fresh, config, started=False, device=device, workers=workers), ()
    refuse_other_space(parent, env)
    policy = copy.deepcopy(trained_policy(parent)).train()
    if config.residual and isinstance(env.robot, ArmEmbodiment):
        policy = with_residual(policy, parent.card.space, env.robot.twin, seed=config.seed)
    return PpoTraining(env, policy, config, started=True, device=device, workers=workers), ()


def _refuse_shards(config: ReinforceConfig) -> None:
    if config.shards == 1:
        return
    if config.algorithm != "ppo":
        raise UsageError(f"--shards {config.shards}: {config.algorithm} simulates in one process; shards are for ppo")
    if config.widen:
        raise UsageError(
            f"--shards {config.shards}: --widen decides about the ranges of all environments together and simulates in "
            "one process; use a curriculum of the config instead"
        )
    if not 1 <= config.shards <= config.num_envs:
        raise UsageError(
            f"--shards {config.shards}: a number from 1 to the number of environments, {config.num_envs}, was expected"
        )


def trained_policy(parent: Checkpoint) -> MlpPolicy:
    if not isinstance(parent.policy, MlpPolicy):
        raise CheckpointError(
            f"{parent.path}: is a policy of kind {parent.card.policy}; reinforcement improves mlp policies only"
        )
    return parent.policy


def refuse_other_space(parent: Checkpoint, env: VectorTwinEnv) -> None:
    """Raise CheckpointError if the policy has other observations, another action or another robot."""
    unlike = parent.card.space.differences(space_of_env(env))
    if unlike:
        table = table_of(unlike, here=parent.path.name, there="environment")
        raise CheckpointError(f"{parent.path} does not fit the environment. Differences:\n{table}")


def _observing_like(run: RunConfig, parent: Checkpoint) -> RunConfig:
    """The config with the observations of a policy, unless it names its own."""
    environment = run.environment or EnvironmentConfig()
    if environment.observations:
        return run
    names = tuple(feature.name for feature in parent.card.space.inputs)
    return replace(run, environment=replace(environment, observations=names))
