"""PhaseTracker: determines from the state alone which phases of its task an episode has completed.

The scripted expert knows its phase; a policy does not report one. So the phase is inferred from the state: the tool or
the object is at the phase's target, the fingers press, or the fingers have let go. A policy may skip parts of a phase,
so tolerances are wider than the expert's, and a completed phase implies all phases before it. A completed phase stays
completed.

Some evidence is sufficient at any time, such as the object at the goal. Other evidence counts only while its phase is
the current one: open fingers press on nothing at the end of an episode, but also at its beginning.
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
        """(width,) current phase of each slot: the first that is not completed, or the last."""
        return np.minimum(self._completed, len(self._phases) - 1)

    @property
    def completed(self) -> np.ndarray:
        """(width,) number of completed phases of each slot."""
        return self._completed.copy()

    def look(self, cell: Scene) -> None:
        """Update the completed phases from the current state. Call once per control period."""
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
        """Return the evidence for each phase.

        Returns:
            (width, phases) whether the result of each phase is visible in the state, and (phases,) whether this
            evidence is sufficient at any time.
        """
        anchors = self.twin.task.anchors(cell)
        held = length(cell.object_position - cell.tool_position) < HELD_M
        evidence, alone = [], []
        for phase in self._phases:
            if phase.until == "gripped":
                done = cell.finger_force_n.min(axis=1) > PRESSED_N
            elif phase.until == "opened":
                done = cell.finger_force_n.max(axis=1) < LET_GO_N
            elif phase.anchor == "here":
                # Only the rise counts; the horizontal path is free.
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
