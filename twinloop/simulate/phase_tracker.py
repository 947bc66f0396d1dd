"""PhaseTracker: determines from the state alone which phases of its task an episode has completed.

The scripted expert knows its phase; a policy does not report one. So the phase is inferred from the state: the tool or
the object is at the phase's target, the fingers press, or the fingers have let go. A policy may skip parts of a phase,
so tolerances are wider than the expert's, and a completed phase implies all phases before it. A completed phase stays
completed.

Some evidence is sufficient at any time: the object at the goal, or a condition of the task that did not hold at the
beginning, such as an open drawer. Other evidence counts only while its phase is the current one: open fingers press on
nothing at the end of an episode, but also at its beginning.
"""

import numpy as np

from twinloop.simulate.program import Program
from twinloop.simulate.view import View
from twinloop.twin.phase import Phase
from twinloop.twin.rotation import length
from twinloop.twin.twin import Twin

SLACK_M = 0.01
HELD_M = 0.06
PRESSED_N = 1.0
LET_GO_N = 0.1


class PhaseTracker:
    """Phases that n episodes have completed. The phases of each arm are tracked by themselves."""

    def __init__(self, twin: Twin, *, width: int):
        self._count = len(twin.task.phases)
        self._arms = tuple(_ArmTracker(twin, arm=index.number, width=width) for index in twin.arms)

    def begin(self, ids: np.ndarray) -> None:
        for arm in self._arms:
            arm.begin(ids)

    @property
    def phase(self) -> np.ndarray:
        """(width,) current phase of each slot: the first that is not completed, or the last."""
        return np.minimum(self.completed, self._count - 1)

    @property
    def completed(self) -> np.ndarray:
        """(width,) number of phases of each slot before the first that is not completed."""
        return np.minimum.reduce([arm.first_open for arm in self._arms])

    def look(self, cell: View, ids: np.ndarray | None = None) -> None:
        """Update the completed phases of slots `ids` (None: all). Call once in each control period of a slot."""
        for arm, view in zip(self._arms, cell.arms, strict=True):
            arm.look(view, ids)


class _ArmTracker:
    """The phases of one arm."""

    def __init__(self, twin: Twin, *, arm: int, width: int):
        self.twin = twin
        self._program = Program(twin, width=width, arm=arm)
        self._phases = self._program.phases
        self._numbers = np.append(self._program.numbers, len(twin.task.phases))
        self._completed = np.zeros(width, int)
        self._fresh = np.ones(width, bool)
        self._grip_offsets_m = _grip_offsets_m(self._phases)
        self._conditional = np.array([callable(phase.until) for phase in self._phases])
        self._at_start = np.zeros((width, len(self._phases)), bool)

    def begin(self, ids: np.ndarray) -> None:
        self._program.begin(ids)
        self._completed[ids] = 0
        self._fresh[ids] = True

    @property
    def _phase(self) -> np.ndarray:
        return np.minimum(self._completed, len(self._phases) - 1)

    @property
    def first_open(self) -> np.ndarray:
        """(width,) place in the task's program of the first phase that is not completed; the number of all if none."""
        return self._numbers[self._completed]

    def look(self, cell: View, ids: np.ndarray | None = None) -> None:
        mine = np.ones(len(self._fresh), bool)
        if ids is not None:
            mine[:] = False
            mine[ids] = True
        # A policy reports no target orientation. The tool's own is what a phase begins with.
        self._program.wanted_axes[:] = cell.tool_axes
        self._program.enter(cell, self._phase, self._fresh & mine)
        evidence, alone = self._evidence(cell)
        before = self._completed
        begun = mine & self._fresh & (before == 0)
        self._at_start[begun] = evidence[begun]
        alone = alone | (self._conditional & ~self._at_start)
        numbers = np.arange(len(self._phases))
        counts = mine[:, None] & evidence & (alone | (numbers == before[:, None]))
        self._completed = np.maximum(before, (counts * (numbers + 1)).max(axis=1))
        # The condition of the next phase may hold already, and then its expert ends in this period.
        following = self._completed[:, None] == numbers
        holds = (following & evidence & self._conditional).any(axis=1)
        self._completed += (self._completed > before) & holds
        self._fresh = np.where(mine, self._completed > before, self._fresh)
        # The next phase begins where this one has ended.
        self._program.enter(cell, self._phase, self._fresh & mine)
        self._program.memory.elapsed_s += self.twin.control_period_s * mine

    def _evidence(self, cell: View) -> tuple[np.ndarray, np.ndarray]:
        """Return the evidence for each phase.

        Returns:
            (width, phases) whether the result of each phase is visible in the state, and (phases,) whether this
            evidence is sufficient at any time.
        """
        evidence, alone = [], []
        for number, phase in enumerate(self._phases):
            if callable(phase.until):
                done = phase.until(cell)
            elif phase.until == "gripped":
                done = cell.finger_force_n.min(axis=1) > PRESSED_N
            elif phase.until == "opened":
                done = cell.finger_force_n.max(axis=1) < LET_GO_N
            else:
                missing = self._program.target(cell, number).position - self._program.moved(cell, number)
                # Of a motion relative to its start only the rise counts; the horizontal path is free.
                left_m = missing[:, 2] if phase.relative else length(missing)
                done = left_m < phase.tolerance_m + SLACK_M
            if phase.carrying:
                apart_m = length(cell.position(phase.carrying) - cell.tool_position)
                done = done & (apart_m < HELD_M + self._grip_offsets_m[number])
            evidence.append(done)
            alone.append(phase.until == "gripped" or (phase.until == "arrived" and not phase.relative))
        return np.stack(evidence, axis=1), np.array(alone)


def _grip_offsets_m(phases: tuple[Phase, ...]) -> list[float]:
    """How far from the centre of a thing, or from its frame, it is gripped in each phase."""
    offsets, offset_m = [], 0.0
    for phase in phases:
        if phase.grip is not None:
            offset_m = float(np.linalg.norm(phase.grip.offset_m)) + abs(phase.grip.raise_m)
        offsets.append(offset_m)
    return offsets
