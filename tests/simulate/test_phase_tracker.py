"""Progress is read off the state: on demonstrations it agrees with who knows, it never goes back, it can be fooled by
nothing that has not come about."""

import numpy as np
import pytest

from tests.conftest import SEED_RANGES
from twinloop.randomize.draw import Draws, Sampler
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.phase_tracker import PhaseTracker
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks
from twinloop.twin.twin import Twin


class Onlooker:
    """Watches the progress of what an expert does, one episode a slot; the expert may be made to stop."""

    def __init__(self, twin: Twin, *, width: int, seed: int, stop_before: int = 99):
        self.expert, self.stop_before = Expert(twin, ExpertConfig(), width=width, seed=seed), stop_before
        self.progress = PhaseTracker(twin, width=width)
        self.completed: list[np.ndarray] = []
        self.known: list[np.ndarray] = []
        self.final = np.zeros(width, int)
        self.running = np.zeros(width, bool)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self.expert.begin(ids, draws, rows)
        self.progress.begin(ids)
        self.running[ids] = True

    def act(self, cell: Cell) -> SlotActions:
        act = self.expert.act(cell)
        self.progress.look(cell)
        self.completed.append(self.progress.completed)
        self.known.append(act.phase)
        act.over[:] |= act.phase >= self.stop_before
        self.final = np.where(self.running, self.progress.completed, self.final)
        self.running &= ~act.over
        return act


def watch(twin: Twin, count: int, stop_before: int = 99) -> tuple[Episodes, Onlooker]:
    onlooker = Onlooker(twin, width=count, seed=3, stop_before=stop_before)
    draws = Sampler(SEED_RANGES, seed=3).draw(0, count)
    (episodes,) = rollout(Cell(twin, width=count), iter([draws]), onlooker, seed=3)
    return episodes, onlooker


def finished_phases(twin: Twin, task: Task, count: int) -> np.ndarray:
    """Completed phases of the demonstrations that end well. An expert that gives up has not completed its program."""
    episodes, onlooker = watch(assemble(twin.robot, task), count)
    return onlooker.final[episodes.success & ~episodes.lost]


@pytest.mark.parametrize("name", ["pick_and_place", "handover"])
def test_demonstrations_that_succeed_complete_every_phase(twin: Twin, name: str):
    task = tasks()[name]
    completed = finished_phases(twin, task, 100)
    assert len(completed) > 90
    assert (completed == len(task.phases)).mean() >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, task in tasks().items() if task.arms == ("",)])
def test_so_do_those_of_every_task(twin: Twin, name: str):
    task = tasks()[name]
    completed = finished_phases(twin, task, 16)
    assert len(completed) >= 10  # how many succeed is measured by benchmarks/tasks.py
    assert (completed == len(task.phases)).mean() > 0.9


@pytest.mark.parametrize("phase", range(1, 8))
def test_who_stops_has_completed_what_came_before_and_hardly_more(twin: Twin, phase: int):
    _, onlooker = watch(twin, 10, stop_before=phase)
    assert (onlooker.final >= phase - 1).all()
    assert (onlooker.final <= phase).all()


@pytest.mark.parametrize("stop", ["lift", "transfer", "offer", "release"])
def test_a_palm_that_comes_completes_no_phase_by_itself(twin: Twin, stop: str):
    """In a handover the goal moves. What the robot has not done is not completed when the palm arrives."""
    handover = assemble(twin.robot, tasks()["handover"])
    phase = [phase.name for phase in handover.task.phases].index(stop)
    _, onlooker = watch(handover, 10, stop_before=phase)
    assert (onlooker.final >= phase - 1).all()
    assert (onlooker.final <= phase).all()


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
    _, onlooker = watch(twin, 10)
    assert (np.diff(np.array(onlooker.completed), axis=0) >= 0).all()


def test_its_phase_follows_that_of_the_demonstrator(twin: Twin):
    episodes, onlooker = watch(twin, 10)
    known, inferred = np.array(onlooker.known), np.array(onlooker.completed)
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
