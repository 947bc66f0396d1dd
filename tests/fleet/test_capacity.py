"""Simulations in flight: enough for the engine, and no more than a worker can fill."""

from dataclasses import replace

from twinloop.fleet.capacity import SLOTS_PER_WORKER, width_of
from twinloop.run.default import embedded_config


def test_a_worker_has_no_more_slots_than_episodes():
    config = embedded_config()
    config = replace(config, rollout=replace(config.rollout, parallel_envs=10_000))
    assert width_of(config, 2, episodes=100) == 50
    assert width_of(config, 1) == SLOTS_PER_WORKER


def test_a_run_of_several_tasks_fills_its_slots_with_one_shard():
    config = embedded_config().with_tasks(["pick_and_place", "press_button"])
    config = replace(config, dataset=replace(config.dataset, shard_episodes=16))
    assert width_of(config, 2) == 16
