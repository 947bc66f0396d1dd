"""How many processes and simulations in flight a run uses, and which engine runs on which executor."""

import numpy as np

from twinloop.errors import UsageError
from twinloop.fleet.executor import Executor
from twinloop.run.config import MOST_EPISODES, RunConfig
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig
from twinloop.simulate.episodes import channels_of

SLOTS_PER_WORKER, FEWEST_SLOTS = 1024, 256
"""Maximum number of simulations in flight per CPU worker, and that of tasks whose frames need much memory. More does
not step faster and delays the first shard. The data does not depend on it."""
TAPE_BYTES = 256 * 10**6
"""Memory that a worker may use for the frames of the episodes in flight."""

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

    A worker that renders, or whose shards are of several tasks, handles one shard at a time and needs no more slots. An
    empty slot costs time, so there are at most as many slots as `episodes`.
    """
    most = min(_slots(config) if engine.backend == "cpu" else WORLDS, -(-episodes // workers))
    if config.cameras or len(config.by_task) > 1:
        most = min(most, config.dataset.shard_episodes)
    return max(1, min(most, -(-config.rollout.parallel_envs // workers)))


def _slots(config: RunConfig) -> int:
    """Simulations in flight per CPU worker, so that the frames of the longest task fit into `TAPE_BYTES`."""
    twins = [twin_of(one) for one in config.by_task.values()]
    frames = [twin.longest_ticks * max(part.stop for part in channels_of(twin).values()) for twin in twins]
    return int(min(max(TAPE_BYTES // (max(frames) * np.dtype(np.float32).itemsize), FEWEST_SLOTS), SLOTS_PER_WORKER))
