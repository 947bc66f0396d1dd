"""The phase tracker agrees with the expert's own phase, never goes back, and counts nothing that was not done.

`tests/twin/test_tasks_b.py` checks it on the tasks that it simulates anyway.
"""

import numpy as np
import pytest

from tests.conftest import SEED_RANGES
from tests.simulate.tracked_expert import TrackedExpert
from tests.twin.test_tasks_b import TASKS as SOLVED
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.phase_tracker import PhaseTracker
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.tasks import tasks
from twinloop.twin.twin import Twin


def watch(twin: Twin, count: int, stop_before: int = 99) -> tuple[Episodes, TrackedExpert]:
    expert = Expert(twin, ExpertConfig(), width=count, seed=3)
    tracked = TrackedExpert(twin, expert, width=count, stop_before=stop_before)
    draws = Sampler(SEED_RANGES, seed=3).draw(0, count)
    (episodes,) = rollout(Cell(twin, width=count), iter([draws]), tracked, seed=3)
    return episodes, tracked


def finished_phases(twin: Twin, task: Task, count: int) -> np.ndarray:
    """Completed phases of the demonstrations that end well. An expert that gives up has not completed its program."""
    episodes, tracked = watch(assemble(twin.robot, task), count)
    return tracked.final[episodes.success & ~episodes.lost]


@pytest.mark.parametrize("name", ["pick_and_place", "handover"])
def test_demonstrations_that_succeed_complete_every_phase(twin: Twin, name: str):
    task = tasks()[name]
    completed = finished_phases(twin, task, 100)
    assert len(completed) > 90
    assert (completed == len(task.phases)).mean() >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, task in tasks().items() if not unfit_arms(task, FRANKA_PANDA) and name not in SOLVED]
)
def test_so_do_those_of_other_tasks(twin: Twin, name: str):
    task = tasks()[name]
    completed = finished_phases(twin, task, 16)
    assert len(completed) >= 10  # how many succeed is measured by benchmarks/tasks.py
    assert (completed == len(task.phases)).mean() > 0.9


@pytest.mark.parametrize("phase", range(1, 8))
def test_an_expert_that_stops_has_completed_the_phases_before(twin: Twin, phase: int):
    _, tracked = watch(twin, 10, stop_before=phase)
    assert (tracked.final >= phase - 1).all()
    assert (tracked.final <= phase).all()


@pytest.mark.parametrize("stop", ["lift", "transfer", "offer", "release"])
def test_a_palm_that_comes_completes_no_phase_by_itself(twin: Twin, stop: str):
    """In a handover the goal moves. What the robot has not done is not completed when the palm arrives."""
    handover = assemble(twin.robot, tasks()["handover"])
    phase = [phase.name for phase in handover.task.phases].index(stop)
    _, tracked = watch(handover, 10, stop_before=phase)
    assert (tracked.final >= phase - 1).all()
    assert (tracked.final <= phase).all()


def test_a_condition_that_held_at_the_start_counts_only_in_its_phase(twin: Twin):
    """The last phase of put_in_drawer ends when the drawer is closed, and it is closed at the start."""
    drawer = assemble(twin.robot, tasks()["put_in_drawer"])
    cell = Cell(drawer, width=2)
    cell.admit(np.arange(2), Sampler({}, seed=0).draw(0, 2), np.arange(2))
    progress = PhaseTracker(drawer, width=2)
    for _ in range(5):
        progress.look(cell)
        cell.step(None, np.tile(twin.robot.home_rad, (2, 1)), np.full((2, 1), twin.robot.gripper.open))
    assert (progress.completed == 0).all()


def test_nothing_is_taken_back(twin: Twin):
    _, tracked = watch(twin, 10)
    assert (np.diff(np.array(tracked.completed), axis=0) >= 0).all()


def test_its_phase_follows_that_of_the_demonstrator(twin: Twin):
    episodes, tracked = watch(twin, 10)
    known, inferred = np.array(tracked.known), np.array(tracked.completed)
    running = np.arange(len(known))[:, None] < episodes.lengths
    apart = np.abs(known - np.minimum(inferred, 7))[running]
    assert (apart <= 1).mean() > 0.97


def test_a_robot_that_does_nothing_completes_nothing(twin: Twin):
    cell = Cell(twin, width=2)
    draws = Sampler({}, seed=0).draw(0, 2)
    cell.admit(np.arange(2), draws, np.arange(2))
    progress = PhaseTracker(twin, width=2)
    for _ in range(20):
        progress.look(cell)
        cell.step(None, np.tile(twin.robot.home_rad, (2, 1)), np.full((2, 1), twin.robot.gripper.open))
    assert (progress.completed == 0).all()
