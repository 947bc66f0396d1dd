"""Environments for reinforcement learning, and training in them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from twinloop.api.arguments import (
    CheckpointLike,
    ConfigLike,
    DatasetLike,
    PathOrStr,
    executor_named,
    folder,
    named_config,
)
from twinloop.errors import UsageError, nearest
from twinloop.fleet.executor import Executor
from twinloop.simulate.engine import Backend, EngineConfig

if TYPE_CHECKING:
    from twinloop.environments.vector_env import VectorTwinEnv
    from twinloop.learn.checkpoint import Checkpoint
    from twinloop.learn.reinforce.record import IterationRecord


def make_env(
    config: ConfigLike | None = None,
    *,
    num_envs: int = 1,
    seed: int = 0,
    threads: int | None = None,
    engine: Backend = "cpu",
    device: str = "",
) -> "VectorTwinEnv":
    """Make the environments of a cell for reinforcement learning: a Gymnasium `VectorEnv`.

    Observations are the features of a dataset with their sensor errors, randomization is that of the config, and
    actions are the joints' targets, scaled to -1 to 1. The config's section `environment` chooses terms and weights.

    Args:
        config: a config or its file. Default: the embedded pick-and-place cell.
        num_envs: number of environments that are stepped together.
        seed: run seed. Environment e runs episodes e, e + num_envs, e + 2 num_envs, ... of this seed.
        threads: of the CPU engine; one per core by default. It does not affect results.
        engine: `"cpu"`, or `"warp"` for MuJoCo Warp on a GPU.
        device: of Warp: `cpu` or `cuda:0`.

    Example:
        >>> env = tl.make_env("cell.yaml", num_envs=4, seed=7)
        >>> observations, _ = env.reset()
        >>> observations.shape, env.action_space.shape, env.layout[0]
        ((4, 30), (4, 8), 'observation.state.joint1')
        >>> _, rewards, terminated, truncated, infos = env.step(np.zeros((4, 8)))
        >>> rewards.shape, sorted(infos["reward_terms"])[0]
        ((4,), 'action_rate')
    """
    try:
        from twinloop.environments.make import vector_env
    except ImportError as error:
        raise UsageError(f"environments need Gymnasium ({error}): pip install 'twinloop[rl]'") from None
    read, _ = named_config(config)
    return vector_env(read, num_envs=num_envs, seed=seed, threads=threads, engine=EngineConfig(engine, device))


def reinforce(
    config: ConfigLike | None,
    out: PathOrStr,
    *,
    algorithm: str = "ppo",
    parent: CheckpointLike | None = None,
    demonstrations: DatasetLike | None = None,
    iterations: int | None = None,
    num_envs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
    device: str = "cpu",
    engine: Backend = "cpu",
    executor: str | Executor = "local",
    workers: int | None = None,
    on_iteration: "Callable[[IterationRecord], None] | None" = None,
) -> "Checkpoint":
    """Train a policy by reinforcement learning in a cell. Called again with the same arguments, it continues.

    Args:
        config: a config or its file; its section `environment` chooses observations and rewards. None: the embedded
            pick-and-place cell.
        out: the checkpoint's folder.
        algorithm: `"ppo"`, `"sac"`, `"distill"` for a student that imitates `parent`, or `"imitate"` for a policy
            that imitates the scripted expert of a robot with legs or wheels.
        parent: a checkpoint to improve, or the teacher.
        demonstrations: a dataset of this config, for the replay buffer of `"sac"`.
        iterations, num_envs: number of updates, and of environments.
        settings: further fields of `ReinforceConfig`, such as `{"leash": 0.02, "until": 0.95}`.
        seed: of initial weights and exploration, and run seed of the episodes.
        threads: of the physics; one per core by default.
        device: of torch, and of Warp.
        engine: `"cpu"`, or `"warp"` for MuJoCo Warp.
        executor: where the shards of the environments are simulated (`settings={"shards": 16}`): `"local"`, `"ray"`, or
            the name of an executor plugin. On this machine threads are faster.
        workers: number of shards that are simulated in parallel.
        on_iteration: called with an IterationRecord after each iteration.

    Example:
        >>> checkpoint = tl.reinforce(
        ...     "cell.yaml", "policies/reinforced", iterations=2, num_envs=8, settings={"steps": 8}
        ... )
        >>> checkpoint.card.policy, checkpoint.card.steps
        ('mlp', 2)
    """
    try:
        from twinloop.learn.reinforce.config import ALGORITHMS, ReinforceConfig
        from twinloop.learn.reinforce.recipes import recipe
        from twinloop.learn.reinforce.start import reinforce as _reinforce
    except ImportError as error:
        raise UsageError(f"reinforcement needs packages of its own ({error}): pip install 'twinloop[rl]'") from None
    from twinloop.learn.checkpoint import load

    if algorithm not in ALGORITHMS:
        raise UsageError(f"algorithm: {algorithm!r} was given; one of {', '.join(ALGORITHMS)} was expected")
    read, _ = named_config(config)
    base = recipe(read, algorithm, improves=parent is not None)
    given = {"iterations": iterations, "num_envs": num_envs, **(settings or {})}
    unknown = sorted(set(given) - set(ReinforceConfig.__dataclass_fields__))
    if unknown:
        raise UsageError(f"settings: {unknown[0]!r} is unknown; {nearest(unknown[0], ReinforceConfig.__annotations__)}")
    chosen = replace(
        base, algorithm=algorithm, seed=seed, **{name: value for name, value in given.items() if value is not None}
    )  # pyright: ignore[reportArgumentType]
    return _reinforce(
        read, folder(out), chosen, parent=None if parent is None else load(folder(parent)),
        demonstrations=None if demonstrations is None else folder(demonstrations), threads=threads, device=device,
        engine=EngineConfig(engine, device if engine == "warp" else ""), executor=executor_named(executor),
        workers=workers, on_iteration=on_iteration or (lambda _: None),
    ).checkpoint  # fmt: skip
