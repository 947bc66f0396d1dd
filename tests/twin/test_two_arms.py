"""Scenes with two arms: the tasks succeed, the columns follow the arms, and unfit robots are refused with a reason."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.curate.judge import judge
from twinloop.errors import TwinloopError
from twinloop.observe.features import features_of, observe
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout

EPISODES = 6


def config_of(text: str) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=Path())


@pytest.mark.parametrize(("task", "seed"), [("lift_tray", 3), ("hand_to_hand", 3), ("hand_to_hand", 8)])
def test_two_arms_do_the_task(task: str, seed: int):
    config = config_of(f"scene: {{robot: dual_panda, task: {task}}}\n")
    twin = twin_of(config)
    expert = Expert(twin, config.expert, width=EPISODES, seed=seed)
    cell = Cell(twin, width=EPISODES)
    (episodes,) = rollout(cell, iter([config.sampler(seed=seed).draw(0, EPISODES)]), expert, seed=seed)
    reasons = judge(episodes, twin, config.curate).reasons
    assert reasons.count("accepted") >= EPISODES - 1, reasons
    frames = observe(episodes, twin, config.observe, seed=seed).frames
    assert frames["action"].shape[1] == frames["observation.state"].shape[1] == 16
    assert np.isfinite(frames["action"]).all()


def test_the_elements_of_state_and_action_name_their_arm():
    config = config_of("scene: {robot: dual_panda, task: lift_tray}\n")
    features = {feature.name: feature for feature in features_of(twin_of(config), config.observe)}
    names = features["action"].names
    assert names == features["observation.state"].names
    assert {name.partition(".")[0] for name in names} == {"left", "right"}
    assert len(set(names)) == 16


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scene: {robot: franka_panda, task: lift_tray}", ["lift_tray needs the arms left and right", "has one"]),
        ("scene: {robot: dual_panda, task: pick_and_place}", ["pick_and_place is for one arm", "dual_panda has 2"]),
        ("scene: {robot: so101, robots: {left: so101, right: so101}}", ["robots"]),
        ("scene: {robots: {left: so101, right: so102}, task: lift_tray}", ["so102", "so101"]),
        (
            "scene: {robots: {left: {robot: so101, position_m: [0, 0, 0]}, "
            "right: {robot: so101, position_m: [0, 0, 0]}},"
            " task: lift_tray}",
            ["robots"],
        ),
    ],
)
def test_scenes_that_cannot_be_are_refused(text: str, words: list[str]):
    with pytest.raises(TwinloopError) as error:
        twin_of(config_of(text))
    assert all(word in str(error.value) for word in words), error.value
