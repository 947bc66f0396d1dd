"""Tasks with doors, knobs, holes, stains, grains, cloth and long programs: the scripted expert solves them."""

from pathlib import Path

import pytest
from scipy.stats import binom

from tests.simulate.tracked_expert import TrackedExpert
from twinloop.curate.judge import judge
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

TASKS = (
    "open_door",
    "turn_knob",
    "peg_insertion",
    "plug_in",
    "wipe",
    "pour",
    "prepare_tea",
    "clear_table",
    "lay_cloth",
)
EPISODES = 16
GOAL, LEVEL = 0.9, 0.01
DEFAULT_RANGES = """
randomization:
  physics:
    object_position_noise_cm: [-2, 2]
    object_yaw_deg: [-45, 45]
    object_mass_kg: [0.05, 0.3]
    friction_coefficient: [0.4, 1.0]
    target_position_noise_cm: [-3, 3]
  environment:
    fixture_position_noise_cm: [-1.5, 1.5]
    fixture_yaw_deg: [-5, 5]
"""


@pytest.mark.parametrize("task", TASKS)
def test_the_expert_solves_it_under_default_ranges_and_the_tracker_sees_every_phase(task: str):
    config = config_from_text(f"scene: {{task: {task}}}\n{DEFAULT_RANGES}", name="cell.yaml", folder=Path())
    twin = twin_of(config)
    cell = Cell(twin, width=EPISODES)
    expert = TrackedExpert(twin, Expert(twin, config.expert, width=EPISODES, seed=0), width=EPISODES)
    (episodes,) = rollout(cell, iter([config.sampler().draw(0, EPISODES)]), expert, seed=0)
    reasons = judge(episodes, twin, config.curate).reasons
    accepted = list(reasons).count("accepted")
    # So few would be accepted less than once in a hundred times if the expert reached the goal.
    assert accepted >= binom.ppf(LEVEL, EPISODES, GOAL), reasons
    # An expert that gives up has not completed its program.
    completed = expert.final[episodes.success & ~episodes.lost]
    assert len(completed) >= 10
    assert (completed == len(twin.task.phases)).mean() > 0.9


@pytest.mark.parametrize("task", TASKS)
def test_it_has_twelve_instructions_with_known_slots(task: str):
    twin = twin_of(config_from_text(f"scene: {{task: {task}}}\n", name="cell.yaml", folder=Path()))
    templates = twin.task.language.templates
    assert len(set(templates)) >= 12
    words = twin.words_of(-1.0, 0)
    for text in (*templates, *(phase.words for phase in twin.task.phases)):
        assert "{" not in text.format_map(words)
