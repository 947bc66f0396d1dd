"""How many processes and simulations in flight a run uses, and which engine runs on which executor."""

from twinloop.errors import UsageError
from twinloop.fleet.executor import Executor
from twinloop.run.config import MOST_EPISODES, RunConfig
from twinloop.simulate.engine import EngineConfig

SLOTS_PER_WORKER = 512
"""Maximum number of simulations in flight per CPU worker. More does not step faster, uses more memory and delays the
first shard. The data does not depend on it."""

WORLDS = 4096
"""Maximum number of simulations in flight on a GPU, which needs many to be fast."""


def refuse_together(engine: EngineConfig, executor: Executor) -> None:
    """Raise UsageError if the engine does not run on the executor."""
    if engine.backend == "warp" and executor.name == "ray":
        raise UsageError(
            "--backend warp does not run with --executor ray: assigning GPUs to Ray workers is not supported. Run "
            "`generate` on each machine with its own --seed and --out, then join the datasets with `twinloop merge`; "
            "or use --backend cpu"
        )


def default_workers(engine: EngineConfig, executor: Executor) -> int:
    """One process per core; one for a GPU, which steps all its simulations at once."""
    return 1 if engine.backend == "warp" else executor.capacity()


def width_of(
    config: RunConfig,
    workers: int,
    *,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    episodes: int = MOST_EPISODES,
) -> int:
    """Simulations in flight in each worker.

    A worker that renders handles one shard at a time and needs no more slots. On a GPU an empty slot costs as much as a
    full one, so there are at most as many slots as `episodes`.
    """
    most = SLOTS_PER_WORKER if engine.backend == "cpu" else min(WORLDS, -(-episodes // workers))
    if config.cameras:
        most = min(most, config.dataset.shard_episodes)
    return max(1, min(most, -(-config.rollout.parallel_envs // workers)))
