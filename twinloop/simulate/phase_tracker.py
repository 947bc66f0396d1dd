"""PhaseTracker: which phases of its task an episode has completed, told from the state alone.

A demonstrator knows its phase. Whoever else moves the robot does not say, so it is read off from what has come about:
the tool or the object is where a phase brings it, fingers press, fingers have let go. A policy cuts corners, so
tolerances are wider than a demonstrator's, and a phase that is completed implies all before it. Nothing is taken back.

Some evidence stands for itself, as when the object is at the goal. Other evidence only counts in its turn: fingers
that press on nothing have let go at the end, and at the beginning as well.
"""

import numpy as np

from twinloop.simulate.cell import length
from twinloop.twin.task import Scene
from twinloop.twin.twin import Twin

SLACK_M = 0.01
HELD_M = 0.06
PRESSED_N = 1.0
LET_GO_N = 0.1


class PhaseTracker:
    def __init__(self, twin: Twin, *, width: int):
        self.twin = twin
        self._phases = twin.task.phases
        self._completed = np.zeros(width, int)
        self._here = np.zeros((width, 3))
        self._fresh = np.ones(width, bool)

    def begin(self, ids: np.ndarray) -> None:
        self._completed[ids] = 0
        self._fresh[ids] = True

    @property
    def phase(self) -> np.ndarray:
        """(width,) the phase each slot is in: the first that it has not completed, or the last."""
        return np.minimum(self._completed, len(self._phases) - 1)

    @property
    def completed(self) -> np.ndarray:
        """(width,) how many phases each slot has completed."""
        return self._completed.copy()

    def look(self, cell: Scene) -> None:
        """Note what has been completed by this control period. To be called once in each."""
        self._here[self._fresh] = cell.tool_position[self._fresh]
        evidence, alone = self._evidence(cell)
        before = self._completed
        numbers = np.arange(len(self._phases))
        counts = evidence & (alone | (numbers == before[:, None]))
        self._completed = np.maximum(before, (counts * (numbers + 1)).max(axis=1))
        self._fresh = self._completed > before
        # The next phase begins where this one has ended.
        self._here[self._fresh] = cell.tool_position[self._fresh]

    def _evidence(self, cell: Scene) -> tuple[np.ndarray, np.ndarray]:
        """(width, phases) what each phase is after has come about; (phases,) which of it stands for itself."""
        anchors = self.twin.task.anchors(cell)
        held = length(cell.object_position - cell.tool_position) < HELD_M
        evidence, alone = [], []
        for phase in self._phases:
            if phase.until == "gripped":
                done = cell.finger_force_n.min(axis=1) > PRESSED_N
            elif phase.until == "opened":
                done = cell.finger_force_n.max(axis=1) < LET_GO_N
            elif phase.anchor == "here":
                # Which way it went meanwhile is its own affair; that it has risen is what was asked for.
                risen = (cell.tool_position - self._here)[:, 2]
                done = risen > phase.height_m - phase.tolerance_m - SLACK_M
            else:
                moved = cell.object_position if phase.moves == "object" else cell.tool_position
                off = moved - anchors[phase.anchor]
                off[:, 2] -= phase.height_m
                done = length(off) < phase.tolerance_m + SLACK_M
            evidence.append(done & held if phase.carrying else done)
            alone.append(phase.until == "gripped" or (phase.until == "arrived" and phase.anchor != "here"))
        return np.stack(evidence, axis=1), np.array(alone)
