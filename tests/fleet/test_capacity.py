"""Simulations in flight: enough for the engine, and no more than a worker can fill."""

from dataclasses import replace

from twinloop.fleet.capacity import SEEING_SLOTS, SLOTS_PER_WORKER, width_of, widths_of
from twinloop.run.default import embedded_config


def test_a_worker_has_no_more_slots_than_episodes():
    config = embedded_config()
    config = replace(config, rollout=replace(config.rollout, parallel_envs=10_000))
    assert width_of(config, 2, episodes=100) == 50
    assert width_of(config, 1) == SLOTS_PER_WORKER


def test_an_evaluation_with_cameras_has_more_slots_than_a_shard():
    config = embedded_config()
    config = replace(config, cameras=config.cameras_or_default, dataset=replace(config.dataset, shard_episodes=4))
    assert width_of(config, 1) == 4
    assert width_of(config, 1, live=True) == SEEING_SLOTS
    assert width_of(config, 2, episodes=20, live=True) == 10


def test_a_run_of_several_tasks_fills_its_slots_with_the_episodes_of_a_task():
    config = embedded_config().with_tasks(["pick_and_place", "press_button"])
    config = replace(config, dataset=replace(config.dataset, shard_episodes=16))
    ranges = [(first, first + 16) for first in range(0, 96, 16)]
    assert widths_of(config, ranges, 1) == {"pick_and_place": 48, "press_button": 48}
    assert widths_of(config, ranges, 2) == {"pick_and_place": 24, "press_button": 24}, "both workers share a task"
    assert widths_of(config, ranges[:1], 2) == {"pick_and_place": 8}


def test_with_many_tasks_each_is_left_to_one_worker():
    names = ["pick_and_place", "press_button", "stack", "push_to_goal", "open_drawer", "close_drawer", "open_door"]
    config = embedded_config().with_tasks([*names, "turn_knob"])
    config = replace(config, dataset=replace(config.dataset, shard_episodes=4))
    ranges = [(first, first + 4) for first in range(0, 64, 4)]
    assert set(widths_of(config, ranges, 2).values()) == {8}
