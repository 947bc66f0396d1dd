"""Program: the phases of a task as arrays, and where each of n slots is in it.

The scripted expert follows it. The phase tracker of a policy compares the state with it.
"""

from dataclasses import replace
from typing import cast

import numpy as np

from twinloop.simulate.grip_choice import chosen_grips, is_round
from twinloop.simulate.view import View
from twinloop.twin.phase import GripChoice, Memory, Phase, Target
from twinloop.twin.rotation import inverse_rotated, length, pointing_down, product, rotated, transposed, yaw_of
from twinloop.twin.twin import Twin

UNTIL = {"arrived": 0, "gripped": 1, "opened": 2}
CONDITION = 3
"""Number of a phase that ends by a condition of its own."""


FREES_M = 0.006
"""How far a hand moves aside when it lets go with a jaw that does not move, so that this jaw drags nothing along."""
NEVER = 1_000_000
"""Control periods of a phase that never stalls."""


def phases_in(phase: np.ndarray) -> np.ndarray:
    """The phases that occur, in order. np.unique would sort."""
    return np.flatnonzero(np.bincount(phase))


class TipView:
    """A View in which the tool is where the tips of the closed fingers are."""

    def __init__(self, view: View, tips_m: np.ndarray):
        self._view = view
        self.tool_position = view.tool_position + rotated(view.tool_axes, tips_m)

    def __getattr__(self, name: str):
        return getattr(self._view, name)


class Program:
    """The phases of a twin's task that one arm follows.

    Attributes:
        numbers: place of each phase in the task's program, which has the phases of all arms.
        step: step of each phase. Arms wait for each other between steps.
        memory: what is remembered of each slot's current phase.
        wanted_axes: (width, 3, 3) orientation that the tool is to have.
    """

    def __init__(self, twin: Twin, *, width: int, arm: int = 0):
        self.twin, self.width, self.arm = twin, width, twin.arms[arm].arm
        own = [(number, phase) for number, phase in enumerate(twin.task.phases) if phase.arm == self.arm.name]
        self.numbers = np.array([number for number, _ in own])
        phases = tuple(phase for _, phase in own)
        self.phases: tuple[Phase, ...] = phases
        self.step = np.array([phase.step for phase in phases])
        self.last_step = max(phase.step for phase in twin.task.phases)
        steps = np.array([*self.step[1:], self.last_step + 1])
        self._after = np.stack([self.step, steps])
        self._first = np.searchsorted(self.step, np.arange(self.last_step + 1))
        self.speed = np.array([phase.speed_m_s for phase in phases])
        self.tolerance = np.array([phase.tolerance_m for phase in phases])
        self.shortest = np.array([round(phase.shortest_s * twin.control_hz) for phase in phases])
        self.longest = np.array([round(phase.longest_s * twin.control_hz) for phase in phases])
        self.stalls = np.array([round(phase.stalls_s * twin.control_hz) or NEVER for phase in phases])
        self.until = np.array([CONDITION if callable(phase.until) else UNTIL[phase.until] for phase in phases])
        self.closed = np.array([phase.gripper == "closed" for phase in phases])
        self.carrying = np.array([bool(phase.carrying) for phase in phases])
        self.lost_m = np.array([phase.lost_m for phase in phases])
        self.noise = np.array([phase.noise for phase in phases])
        self.turns = np.array([phase.turns for phase in phases])
        self.funnel = np.array([phase.funnel for phase in phases])
        self.moves_tool = np.array([phase.moves == "tool" for phase in phases])
        self.retry = np.array(_retries(phases))
        self._follows = [phase.follow is not None and is_round(twin, phase.follow) for phase in phases]
        self.memory = Memory(*(np.zeros((width, *shape)) for shape in ((3,), (3, 3), (3,), (3, 3), (3,), (3, 3), ())))
        self.memory.grip_axes[:] = np.eye(3)
        self.wanted_axes = np.zeros((width, 3, 3))
        self._begun = np.ones(width, bool)
        tips_m = np.array(twin.robot.closed_tips_m)
        self._frees_m = float(np.sign(tips_m[1])) * FREES_M
        self._tips_m = tips_m if tips_m.any() else None

    def next_step(self, phase: np.ndarray, done: np.ndarray) -> np.ndarray:
        """(width,) step of the phase that comes after the current one if that is done; else of the current one."""
        return self._after[done.astype(int), phase]

    def first_of_step(self, phase: np.ndarray, step: np.ndarray) -> np.ndarray:
        """(width,) first phase of an earlier step; the current phase if that step is not earlier."""
        return np.where(self.step[phase] > step, self._first[step], phase)

    def begin(self, ids: np.ndarray) -> None:
        self._begun[ids] = True
        self.memory.elapsed_s[ids] = 0

    def enter(self, view: View, phase: np.ndarray, fresh: np.ndarray) -> None:
        """Remember the state in slots whose phase has just begun, and choose grips."""
        if not fresh.any():
            return
        memory = self.memory
        new = fresh & self._begun
        if new.any():
            # Until a phase asks for an orientation, the tool points down.
            self.wanted_axes[new] = pointing_down(yaw_of(view.tool_axes[new]))
            self._begun[new] = False
        memory.tool_m[fresh], memory.tool_axes[fresh] = view.tool_position[fresh], self.wanted_axes[fresh]
        memory.elapsed_s[fresh] = 0
        for number in phases_in(phase[fresh]):
            rows = np.flatnonzero(fresh & (phase == number))
            about = self.phases[number]
            memory.tool_m[rows] = self._seen(view, number).tool_position[rows]
            if about.thing:
                memory.thing_m[rows] = view.position(about.thing)[rows]
                memory.thing_axes[rows] = view.axes(about.thing)[rows]
            if about.grip is not None:
                self._choose_grip(view, about.grip, fresh & (phase == number))
            if about.until == "gripped" and about.thing:
                self._remember_grip(view, about.thing, rows)

    def _choose_grip(self, view: View, choice: GripChoice | None, wanted: np.ndarray) -> None:
        assert choice is not None
        grip_m, grip_axes = chosen_grips(self.twin, view, choice, wanted, self.arm.base_m)
        self.memory.grip_m[wanted], self.memory.grip_axes[wanted] = grip_m[wanted], grip_axes[wanted]

    def _remember_grip(self, view: View, thing: str, rows: np.ndarray) -> None:
        """Store the pose of the tool in the frame of the thing that the fingers close on."""
        axes = view.axes(thing)
        self.memory.grip_m[rows] = inverse_rotated(axes, view.tool_position - view.position(thing))[rows]
        self.memory.grip_axes[rows] = product(transposed(axes), view.tool_axes)[rows]

    def _seen(self, view: View, number: int) -> View:
        """The view that a phase reads: for one that works with the closed fingers, the tool is at their tips."""
        if self._tips_m is None or not self.phases[number].tips:
            return view
        return cast(View, TipView(view, self._tips_m))

    def target(self, view: View, number: int) -> Target:
        target = self.phases[number].target(self._seen(view, number), self.memory)
        if not self._frees_m or self.phases[number].until != "opened":
            return target
        # The moving jaw leaves the thing, and so the hand takes the other one away from it too.
        return replace(target, position=target.position + self._frees_m * view.tool_axes[:, :, 1])

    def moved(self, view: View, number: int) -> np.ndarray:
        """(width, 3) the point that a phase moves."""
        name = self.phases[number].moves
        return self._seen(view, number).tool_position if name == "tool" else view.position(name)

    def errors(self, view: View, phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(width, 3) vector from the moved point to its target, and (width, 3) the moved point."""
        error, moved = np.zeros((self.width, 3)), np.zeros((self.width, 3))
        self.update_errors(view, phase, np.ones(self.width, bool), error, moved)
        return error, moved

    def update_errors(
        self, view: View, phase: np.ndarray, slots: np.ndarray, error: np.ndarray, moved: np.ndarray
    ) -> None:
        """Write errors and moved points of (width,) `slots` into the arrays of `errors`."""
        for number in phases_in(phase[slots]):
            rows = slots & (phase == number)
            if self._follows[number]:
                self._choose_grip(view, self.phases[number].follow, rows)
            target, point = self.target(view, number), self.moved(view, number)
            error[rows] = (target.position - point)[rows]
            moved[rows] = point[rows]
            if target.axes is not None:
                self.wanted_axes[rows] = target.axes[rows]

    def done(self, view: View, phase: np.ndarray) -> np.ndarray:
        """(width,) whether the own condition of the current phase holds; False for phases without one."""
        out = np.zeros(self.width, bool)
        for number in phases_in(phase):
            until = self.phases[number].until
            if callable(until):
                rows = np.flatnonzero(phase == number)
                out[rows] = np.asarray(until(view))[rows]
        return out

    def dropped(self, view: View, phase: np.ndarray) -> np.ndarray:
        """(width,) whether what a phase carries is no longer where it was gripped, or what it moves is lost."""
        out = np.zeros(self.width, bool)
        for number in phases_in(phase):
            carried = self.phases[number].carrying
            if carried:
                rows = phase == number
                held_at = view.position(carried) + rotated(view.axes(carried), self.memory.grip_m)
                apart = length(held_at - view.tool_position)
                out[rows] = (apart > self.lost_m[number])[rows]
            lost = self.phases[number].lost
            if lost is not None:
                rows = phase == number
                out[rows] |= np.asarray(lost(self._seen(view, number)))[rows]
        return out


def _retries(phases: tuple[Phase, ...]) -> list[int]:
    """Number of the phase that a lost grasp goes back to, for each phase."""
    names = [phase.name for phase in phases]
    out, last = [], 0
    for number, phase in enumerate(phases):
        last = number if phase.grip is not None else last
        # The last phase of that name before this one: a program may use a skill several times.
        out.append(number - names[number::-1].index(phase.retry) if phase.retry else last)
    return out
