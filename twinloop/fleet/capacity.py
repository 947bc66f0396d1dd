"""How many processes and simulations in flight a run uses, and which engine runs on which executor."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from twinloop.errors import UsageError
from twinloop.fleet.executor import Executor
from twinloop.randomize.draw import EpisodeRange
from twinloop.run.config import MOST_EPISODES, RunConfig
from twinloop.run.several_tasks import task_of
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig
from twinloop.simulate.episodes import channels_of

SLOTS_PER_WORKER, FEWEST_SLOTS = 512, 256
"""Maximum number of simulations in flight per CPU worker, and that of tasks whose frames need much memory. With more,
the expert costs less per simulation, but a few long episodes at the end of a run cost more. The data does not depend on
it."""
TAPE_BYTES = 256 * 10**6
"""Memory that a worker may use for the frames of the episodes in flight."""

TASKS_PER_WORKER = 4
"""Number of tasks per worker from which on one worker simulates all episodes of a task. At the end of such a run,
workers wait for the last task for a small part of the time."""

SEEING_SLOTS = 32
"""Simulations in flight of a worker that evaluates with cameras. With fewer, most rows of an inference are empty; with
more, a few long episodes at the end cost more."""

FILMED_SLOTS = 32
"""Simulations in flight of a worker that renders recorded episodes. It simulates so many episodes before it renders
them: with fewer the expert costs more per simulation."""

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
    live: bool = False,
) -> int:
    """Simulations in flight in each worker; of a run with several tasks, those of the widest task.

    A worker that renders recorded episodes handles a few shards at a time and needs no more slots. An empty slot costs
    time, so there are at most as many slots as `episodes`.

    Args:
        live: images are rendered while episodes are simulated, for a policy.
    """
    if len(config.by_task) > 1:
        return max(
            width_of(one, workers, engine=engine, episodes=episodes, live=live) for one in config.by_task.values()
        )
    most = min(_slots(config) if engine.backend == "cpu" else WORLDS, -(-episodes // workers))
    if config.cameras:
        most = min(most, SEEING_SLOTS if live else max(FILMED_SLOTS, config.dataset.shard_episodes))
    return max(1, min(most, -(-config.rollout.parallel_envs // workers)))


def widths_of(
    config: RunConfig,
    ranges: Sequence[EpisodeRange],
    workers: int,
    *,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
) -> dict[str, int]:
    """Task -> simulations in flight in each worker that simulates these episodes of it.

    A worker simulates one task at a time. With many tasks, each is left to one worker, so that few have to compile it.
    """
    episodes = Counter[str]()
    for first, stop in ranges:
        episodes[task_of(config, (first, stop))] += stop - first
    shared_by = 1 if len(episodes) >= TASKS_PER_WORKER * workers else workers
    return {
        task: width_of(config.by_task[task], shared_by, engine=engine, episodes=count)
        for task, count in episodes.items()
    }


def grouped(ranges: Iterator[EpisodeRange | None], workers: int, stop: int) -> Iterator[list[EpisodeRange]]:
    """Ranges that a worker simulates before it renders them: `FILMED_SLOTS` episodes, fewer at the end of a run.

    Rendering is slow. A worker that took many of the last ranges would keep them from idle workers, so a group has at
    most half of the worker's share of the remaining episodes.

    Args:
        stop: attempt after the last one of the run.
    """
    for first in filter(None, ranges):
        group, episodes = [first], first[1] - first[0]
        share = (stop - first[0]) // (2 * workers)
        while episodes + first[1] - first[0] <= min(FILMED_SLOTS, share) and (following := next(ranges, None)):
            group.append(following)
            episodes += following[1] - following[0]
        yield group


def _slots(config: RunConfig) -> int:
    """Simulations in flight per CPU worker, so that their frames fit into `TAPE_BYTES`."""
    twin = twin_of(config)
    frames = twin.longest_ticks * max(part.stop for part in channels_of(twin).values())
    return int(min(max(TAPE_BYTES // (frames * np.dtype(np.float32).itemsize), FEWEST_SLOTS), SLOTS_PER_WORKER))
