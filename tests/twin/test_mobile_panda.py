"""A mobile manipulator: base and arm move together, and fetch a thing from another table."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from twinloop.curate.failure import last_phases
from twinloop.curate.judge import judge
from twinloop.curate.verdict import ACCEPTED
from twinloop.deploy.robot_model import usual_robot
from twinloop.deploy.safety.workspace import Tool
from twinloop.errors import ConfigError
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.tasks import tasks
from twinloop.twin.twin import Twin

FETCH = """\
scene: {robot: mobile_panda, task: fetch}
randomization:
  physics: {object_position_noise_cm: [-8, 8], object_yaw_deg: [-45, 45], target_position_noise_cm: [-8, 8]}
  environment: {fixture_position_noise_cm: [-10, 10]}
"""
EPISODES = 6


def twin_and_config(text: str = FETCH):
    config = config_from_text(text, name="fetch.yaml", folder=Path())
    return twin_of(config), config


@pytest.fixture(scope="module")
def twin() -> Twin:
    return twin_and_config()[0]


@pytest.mark.parametrize(
    "text", [FETCH, f"{FETCH}  actuation: {{compliance_mrad_nm: 0.3}}\n"], ids=["usual", "soft gears"]
)
def test_base_and_arm_fetch_a_thing_from_another_table(text: str):
    twin, config = twin_and_config(text)
    draws = config.sampler(seed=5).draw(0, EPISODES)
    expert = Expert(twin, ExpertConfig(), width=EPISODES, seed=5)
    (episodes,) = rollout(Cell(twin, width=EPISODES), iter([draws]), expert, seed=5)
    verdicts = judge(episodes, twin, config.curate).reasons
    assert list(verdicts).count(ACCEPTED) >= EPISODES - 1, verdicts
    # The base travels there and back.
    travelled = np.abs(np.diff(episodes["position"][: episodes.lengths[0], 1])).sum()
    assert travelled > 3.0
    # The thing begins far beyond the reach of the arm alone.
    start = episodes["environment"][0, twin.things[0].columns][:2]
    assert np.linalg.norm(start - np.array(twin.robot.mount_m[:2])) > 1.5 * twin.robot.reach_m


def test_the_jacobian_has_the_slides_of_the_base(twin: Twin):
    cell, data = Cell(twin, width=1), mujoco.MjData(twin.model)
    draws = twin_and_config()[1].sampler(seed=0).draw(0, 1)
    cell.admit(np.array([0]), draws, np.array([0]))
    data.qpos[twin.arm_qpos] = twin.robot.home_rad
    mujoco.mj_forward(twin.model, data)
    linear, angular = np.zeros((3, twin.model.nv)), np.zeros((3, twin.model.nv))
    mujoco.mj_jacSite(twin.model, data, linear, angular, twin.tool_site)
    expected = np.concatenate([linear, angular])[:, twin.arm_dofs]
    np.testing.assert_allclose(cell.jacobian()[:, :, 0], expected, atol=1e-6)
    np.testing.assert_allclose(
        Tool(twin).jacobian(np.array(twin.robot.home))[:, :-1], linear[:, twin.arm_dofs], atol=1e-6
    )


def test_an_arm_that_stands_is_refused():
    with pytest.raises(ConfigError, match="fetch needs a robot with a mobile base; franka_panda stands still"):
        twin_and_config("scene: {robot: franka_panda, task: fetch}")
    assert usual_robot(tasks()["fetch"]) == "mobile_panda"


def test_the_base_stands_still_where_the_arm_reaches_everything():
    twin, config = twin_and_config("scene: {robot: mobile_panda, task: pick_and_place}")
    expert = Expert(twin, ExpertConfig(action_noise_rad=0), width=2, seed=5)
    (episodes,) = rollout(Cell(twin, width=2), iter([config.sampler(seed=5).draw(0, 2)]), expert, seed=5)
    assert episodes.success.all()
    assert np.abs(episodes["position"][:, :3]).max() < 0.005


@pytest.mark.parametrize("task", ["pour", "clear_table", "bin_picking"])
def test_the_places_of_a_task_are_within_reach_of_the_standing_base(task: str):
    # The bin is descended to with a limited force, in which the forces of the base have no part.
    twin, config = twin_and_config(f"scene: {{robot: mobile_panda, task: {task}}}")
    expert = Expert(twin, ExpertConfig(action_noise_rad=0), width=2, seed=5)
    (episodes,) = rollout(Cell(twin, width=2), iter([config.sampler(seed=5).draw(0, 2)]), expert, seed=5)
    assert episodes.success.all(), last_phases(episodes, twin)


def test_a_task_that_travels_keeps_its_places(twin: Twin):
    assert twin.task.area is None
    assert twin.robot.area is not None
    assert not twin.robot.is_short
