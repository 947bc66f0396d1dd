"""The scripted expert does tasks in the cells of both engines, with several robots, from readings alone."""

import pytest

from tests.deploy.conftest import need_drake, need_physx
from twinloop.deploy.demonstrator import Demonstrator, demonstrate
from twinloop.deploy.rehearsal.client import RehearsalRobot
from twinloop.twin.tasks import tasks

CASES = (
    ("drake", "xarm7", "put_in_drawer", 0),
    ("drake", "ur5e_2f85", "press_button", 0),
    ("drake", "franka_panda", "press_button", 10),  # a soft button jumped back here
    ("drake", "dual_panda", "lift_tray", 0),
    ("drake", "mobile_panda", "fetch", 0),
    ("physx", "xarm7", "stack", 0),
    ("physx", "ur5e_2f85", "peg_insertion", 9),  # a finger at rest had a velocity here, and the grasp seemed lost
    ("physx", "franka_panda", "sort_by_colour", 0),
)

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.mark.parametrize(("engine", "robot", "task", "episode"), CASES)
def test_the_expert_does_the_task(engine: str, robot: str, task: str, episode: int):
    {"drake": need_drake, "physx": need_physx}[engine]()
    with RehearsalRobot(f"{engine}:nominal,robot={robot},task={task}") as cell:
        demonstration = demonstrate(cell, Demonstrator(cell.describe(), seed=0, task=tasks()[task]), episode)
    assert demonstration.outcome.success, demonstration
