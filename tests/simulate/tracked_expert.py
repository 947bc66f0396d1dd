"""TrackedExpert: the scripted expert, and what a PhaseTracker reads from the same states."""

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.expert import Expert
from twinloop.simulate.phase_tracker import PhaseTracker
from twinloop.twin.twin import Twin


class TrackedExpert:
    """An expert whose progress a PhaseTracker follows, one episode per slot.

    Attributes:
        stop_before: the expert stops when it begins this phase.
        completed: (width,) phases that the tracker calls completed, per control period.
        known: (width,) phases of the expert, per control period.
        final: (width,) phases that were completed when the episode ended.
    """

    def __init__(self, twin: Twin, expert: Expert, *, width: int, stop_before: int = 99):
        self.expert, self.stop_before = expert, stop_before
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
