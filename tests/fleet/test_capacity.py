"""Simulations in flight: enough for the engine, and no more than a worker can fill."""

from dataclasses import replace

import pytest

from twinloop.fleet.capacity import FILMED_SLOTS, SEEING_SLOTS, SLOTS_PER_WORKER, grouped, width_of, widths_of
from twinloop.run.default import embedded_config


def test_a_worker_has_no_more_slots_than_episodes():
    config = embedded_config()
    config = replace(config, rollout=replace(config.rollout, parallel_envs=10_000))
    assert width_of(config, 2, episodes=100) == 50
    assert width_of(config, 1) == SLOTS_PER_WORKER


def test_an_evaluation_with_cameras_has_more_slots_than_a_shard():
    config = embedded_config()
    config = replace(config, cameras=config.cameras_or_default, dataset=replace(config.dataset, shard_episodes=4))
    assert width_of(config, 1) == FILMED_SLOTS
    assert width_of(config, 2, episodes=20) == 10
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


@pytest.mark.parametrize(
    ("size", "episodes", "workers"), [(8, 200, 2), (8, 200, 7), (64, 640, 2), (1, 50, 3), (8, 8, 1)]
)
def test_ranges_are_simulated_in_groups_that_shrink_towards_the_end(size: int, episodes: int, workers: int):
    ranges = [(first, first + size) for first in range(0, episodes, size)]
    groups = list(grouped(iter(ranges), workers, episodes))
    assert [one for group in groups for one in group] == ranges
    for group in groups:
        simulated, remaining = size * len(group), episodes - group[0][0]
        assert len(group) == 1 or simulated <= min(FILMED_SLOTS, remaining / (2 * workers))
    assert len(groups[-1]) == 1
    if (size, workers) == (8, 2):
        assert [len(group) for group in groups] == [4, 4, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1]


def test_a_job_that_does_not_know_its_end_takes_one_range_at_a_time():
    ranges = [(0, 8), (8, 16), (16, 24)]
    assert list(grouped(iter(ranges), 1, 0)) == [[one] for one in ranges]
