"""Size of shards of a run with several tasks."""

from dataclasses import replace

from twinloop.run.config import RunConfig

SHARDS_A_TASK = 4
"""A shard holds episodes of one task, so with fewer shards the tasks would not have their shares."""
SMALLEST_DEFAULT = 16
"""Smaller shards are what a config asks for, and stay."""


def with_enough_shards(config: RunConfig, episodes: int, *, begun_with: int | None = None) -> RunConfig:
    """The config with shards so small that each task of a short run has its share.

    Args:
        begun_with: episodes in a shard of the dataset that is continued; None for a new one.
    """
    tasks, size = len(config.by_task), config.dataset.shard_episodes
    if tasks > 1 and size >= SMALLEST_DEFAULT:
        size = min(size, begun_with or max(1, episodes // (SHARDS_A_TASK * tasks)))
    return replace(config, dataset=replace(config.dataset, shard_episodes=size))
