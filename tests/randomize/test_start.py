"""Where an episode begins: nothing that is not part of the task stands inside one of its entities."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.curate.limits import CurateConfig
from twinloop.randomize.start import clutter_places, start_of
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.twin import clutter

EPISODES = 48
CROWDED = """
scene: {{robot: {robot}, task: {task}}}
randomization:
  physics: {{object_position_noise_cm: [-2, 2], object_yaw_deg: [-45, 45]}}
  environment:
    clutter_count: [2, 4]
    clutter_place_cm: [-6, 6]
    distractor_count: [2, 4]
    distractor_place_cm: [-6, 6]
    unexpected_item_probability: 1
    unexpected_item_place_cm: [-6, 6]
    fixture_position_noise_cm: [-1.5, 1.5]
    fixture_yaw_deg: [-5, 5]
"""


@pytest.mark.parametrize(
    ("robot", "task"),
    [("dual_panda", "lift_tray"), ("franka_panda", "prepare_tea"), ("franka_panda", "sort_by_colour")],
)
def test_no_bystanding_body_begins_inside_an_entity(robot: str, task: str):
    config = config_from_text(CROWDED.format(robot=robot, task=task), name="cell.yaml", folder=Path())
    cell, draws = Cell(twin_of(config), width=EPISODES), config.sampler().draw(0, EPISODES)
    cell.admit(np.arange(EPISODES), draws, np.arange(EPISODES))
    assert 1000 * cell.penetration_m.max() < CurateConfig().penetration_mm


@pytest.mark.parametrize("robot", ["mobile_panda", "so101"])
def test_nothing_stands_on_the_way_of_a_pushed_thing(robot: str):
    config = config_from_text(CROWDED.format(robot=robot, task="push_to_goal"), name="cell.yaml", folder=Path())
    twin, draws = twin_of(config), config.sampler().draw(0, EPISODES)
    start = start_of(twin, draws.values, EPISODES)
    first, last = (start.poses[name][:, :2] for name in ("object", "goal"))
    places = clutter_places(draws.values, start)
    for number, (_, half_m, _, _) in enumerate(clutter.THINGS.values()):
        stands = places[:, number, 2] > 0
        assert stands.any()
        for share in np.linspace(0, 1, 20):
            apart_m = np.linalg.norm(places[:, number, :2] - first - share * (last - first), axis=1)
            # Half of the puck's width, and a bit more.
            assert (apart_m[stands] > max(half_m[:2]) + 0.04).all()
