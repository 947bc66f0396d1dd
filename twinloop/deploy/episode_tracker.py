"""EpisodeTracker: phase, termination and failure name of a running episode, estimated from readings alone.

It reads the scene through `RobotView`, as the scripted expert does, and applies the rules of an evaluation in the twin
(`simulate/phase_tracker.py`, `simulate/termination.py`, a task's failures). Readings are late and noisy, so these are
estimates. Whether an episode succeeded is decided by the robot's detector or by a human. A detector that works during
an episode (`Reading.achieved`) also ends it: with a tracker that is 7 mm off, readings never show that a plug is in,
and a policy that goes on pulls it out again.
"""

from functools import lru_cache

import numpy as np

from twinloop.curate.failure import GRIPPED_N, LIFTED_M, TIMEOUT, TOUCHED_N
from twinloop.deploy.robot import Briefing, Description, Reading
from twinloop.deploy.robot_model import model_named
from twinloop.deploy.robot_view import RobotView
from twinloop.simulate.phase_tracker import PhaseTracker
from twinloop.simulate.termination import SETTLED_S, TerminationRule, fallen
from twinloop.twin import failure
from twinloop.twin.assemble import assemble
from twinloop.twin.mobile_task import MobileTask
from twinloop.twin.objects import OBJECTS
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.twin import Twin

NEEDED = ("observation.state", "observation.velocity", "observation.effort", "observation.environment_state")
ALONE = np.zeros(1, int)


def twin_of_robot(about: Description, task: Task | MobileTask, kind: str = "") -> Twin | None:
    """Return the twin of a robot at a table, or None if there is no model of the robot.

    Args:
        kind: the object that is the task's first thing; "" or an unknown one for the task's own.
    """
    return None if isinstance(task, MobileTask) else _twin_of(about.id, about.robot, task, kind, round(about.rate_hz))


@lru_cache
def _twin_of(id: str, robot: str, task: Task, kind: str, rate_hz: int) -> Twin | None:
    model = model_named(id, robot)
    return None if model is None else assemble(model, task, OBJECTS.get(kind), control_hz=rate_hz)


def _has_model(about: Description, task: Task | MobileTask) -> bool:
    if isinstance(task, MobileTask):
        return False
    model = model_named(about.id, about.robot)
    return model is not None and not unfit_arms(task, model)


class EpisodeTracker:
    """Tracks the episodes of one robot.

    If there is no model of the robot, or it does not report NEEDED, `sees` is False: the phase is then unknown and an
    episode ends by timeout or by a human.
    """

    def __init__(self, about: Description, task: Task | MobileTask, *, episode_timeout_s: float | None = None):
        self._about, self._task = about, task
        self._longest = round((episode_timeout_s or task.longest_s) * about.rate_hz)
        self._lasting = max(1, round(SETTLED_S * about.rate_hz))
        observed = {feature.name for feature in about.observed}
        self.sees = _has_model(about, task) and set(NEEDED) <= observed

    def begin(self, briefing: Briefing) -> None:
        self._tick = self._phase = self._achieved = 0
        if not self.sees:
            return
        kind = briefing.conditions.get("object", "")
        twin = twin_of_robot(self._about, self._task, kind)
        assert twin is not None
        self._twin, self._sight = twin, RobotView(twin)
        self._sight.begin(briefing.conditions)
        self._progress, self._ending = PhaseTracker(twin, width=1), TerminationRule(twin, width=1)
        self._progress.begin(ALONE)
        self._ending.begin(ALONE)
        self._start_m: np.ndarray | None = None
        self._touched = self._gripped = self._lifted = self._fell = False
        self._pressed = self._closing = self._grips = np.zeros(len(twin.arms), bool)
        self._released_s = np.inf

    @property
    def phase(self) -> int:
        return self._phase

    @property
    def last_phase(self) -> str:
        """Name of the current phase, or "" if `sees` is False."""
        return self._task.phase_names[self._phase] if self.sees else ""

    def look(self, reading: Reading, command: np.ndarray | None) -> bool:
        """Update once per control period. command: the last that was sent. Return True if the episode is over."""
        self._achieved = self._achieved + 1 if reading.achieved else 0
        over = self._tick >= self._longest or self._achieved > self._lasting
        if self.sees:
            sight = self._sight
            sight.take(reading, command)
            self._progress.look(sight)
            # A success detector knows more than these estimates, which then only tell whether a thing has fallen.
            ended, _ = self._ending.look(sight, None if reading.achieved is None else np.zeros(1, bool))
            self._phase = int(self._progress.phase[0])
            self._note(sight, command)
            over = over or bool(ended[0])
        self._tick += 1
        return over

    def failure(self) -> str:
        """Return the failure name of an episode that ended without success, or "" if `sees` is False."""
        if not self.sees:
            return ""
        row = {"touched": self._touched, "gripped": self._gripped, "lifted": self._lifted, "fell": self._fell,
               "holding": (self._pressed & self._closing).any(), "released_s": self._released_s,
               "ended_s": self._tick / self._about.rate_hz}  # fmt: skip
        ending = failure.EpisodeSummary(**{name: np.array([value]) for name, value in row.items()}, drawn={})
        failures = (check.name for check in self._twin.task.failures if check.holds(ending)[0])
        return next(failures, TIMEOUT)

    def _note(self, sight: RobotView, command: np.ndarray | None) -> None:
        """Update the quantities that `curate/failure.py` computes for a whole simulated episode."""
        forces_n = sight.finger_force_n.reshape(-1, 2)  # a row for each arm
        both_n = forces_n.min(axis=1)
        height_m = np.array([sight.position(index.name)[0, 2] for index in self._twin.things])
        self._start_m = height_m if self._start_m is None else self._start_m
        was_closing, was_pressed = self._closing, self._pressed
        if command is not None:
            openings = zip(command[self._twin.joints :], (arm.gripper for arm in self._twin.robot.arms), strict=True)
            shares = [(opening - gripper.closed) / (gripper.open - gripper.closed) for opening, gripper in openings]
            self._closing = np.array(shares) < 0.5
        self._pressed = both_n > TOUCHED_N
        if (was_closing & was_pressed & ~self._closing).any():
            self._released_s = self._tick / self._about.rate_hz
        self._touched |= bool((forces_n > TOUCHED_N).any())
        grips = self._closing & (both_n > GRIPPED_N)
        self._gripped |= bool((grips & self._grips).any())
        self._grips = grips
        self._lifted |= bool((height_m - self._start_m > LIFTED_M).any())
        self._fell |= bool(fallen(sight, self._twin)[0])
