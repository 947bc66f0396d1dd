"""ImperfectDemonstrator: the scripted expert with the noise, delay and mistakes of a human demonstrator."""

from dataclasses import replace

import numpy as np

from twinloop.deploy.imperfection import ImperfectHand
from twinloop.deploy.robot_view import RobotView
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.twin.task import Phase
from twinloop.twin.twin import Twin

PATIENCE = 2.5
"""Factor on the timeouts of the task's phases, because people take longer than a script."""


def paced(twin: Twin, speed: float) -> Twin:
    """Return the twin with the speeds and timeouts of its task's phases scaled for a demonstrator of this speed."""
    phases = tuple(
        replace(phase, speed_m_s=speed * phase.speed_m_s, longest_s=phase.longest_s * max(1.0, 1 / speed) * PATIENCE)
        for phase in twin.task.phases
    )
    return replace(twin, task=replace(twin.task, program=phases))


class ImperfectDemonstrator:
    """The demonstrator of one demonstration."""

    def __init__(self, twin: Twin, config: ExpertConfig, hand: ImperfectHand, *, seed: int):
        self.expert = Expert(paced(twin, hand.speed), config, width=1, seed=seed, foresees=False)
        self._hand, self._phases = hand, twin.task.phases
        self._arms, self._entities = twin.robot.arms, twin.task.by_name
        self._period_s = twin.control_period_s
        self._phase = -1
        self._missed_m = np.zeros(3)
        self._correction = 0
        self._pause = hand.reaction()
        self._openings: list[float] = []
        self._regrasping = 0
        self._regrasps = hand.regrasps
        self._last: SlotActions | None = None

    def act(self, sight: RobotView) -> SlotActions:
        """Return the expert's action with delay, aiming error and tremor, the same in `arm_rad` and `command_rad`."""
        if self._last is not None and self._pause > 0:
            self._pause -= 1
            opening = self._last.opening.copy()
            if self._openings:
                opening[0, self._regrasping] = self._openings.pop(0)
            act = replace(self._last, opening=opening)
        else:
            act = self._last = self._go_on(sight)
        arm = self._hand.shaken(act.arm_rad[0])[None]
        return replace(act, arm_rad=arm, command_rad=arm + (act.command_rad - act.arm_rad))

    def _go_on(self, sight: RobotView) -> SlotActions:
        self._look(sight)
        act = self.expert.act(sight)
        phase = int(act.phase[0])
        if phase != self._phase:
            before, self._phase = self._phase, phase
            self._enter(sight, before)
        elif self._phases[phase].noise > 0:
            hesitation = self._hand.hesitation()
            if hesitation:
                self._rest(hesitation)
        return act

    def _look(self, sight: RobotView) -> None:
        """Shift the seen position of the phase's anchor by the aiming error, which a correction reduces."""
        if self._correction > 0:
            self._correction -= 1
            if self._correction == 0:
                self._missed_m = self._missed_m * self._hand.config.left_over
        anchor = self._phases[max(self._phase, 0)].anchor.partition(".")[0]
        if anchor in self._entities:
            sight.shift(anchor, self._missed_m)

    def _enter(self, sight: RobotView, before: int) -> None:
        phase = self._phases[self._phase]
        previous = self._phases[before] if before >= 0 else None
        if phase.anchor:
            if previous is not None and previous.anchor == phase.anchor and before < self._phase:
                self._missed_m = self._missed_m * self._hand.config.left_over
                self._correction = self._hand.reaction()
            else:
                self._missed_m = self._hand.aim(_way(sight, phase))
                self._correction = 0
        if previous is None:
            return
        if self._regrasps and previous.until == "gripped":
            self._regrasps = False
            half = round(self._hand.config.regrasp_s / self._period_s)
            self._regrasping = next(place for place, arm in enumerate(self._arms) if arm.name == previous.arm)
            gripper = self._arms[self._regrasping].gripper
            self._openings = [gripper.open] * half + [gripper.closed] * (half + 2)
            self._rest(len(self._openings))
        elif phase.until == "arrived":
            self._rest(self._hand.reaction())

    def _rest(self, periods: int) -> None:
        if periods:
            self._pause = periods
            self.expert.halt()


def _way(sight: RobotView, phase: Phase) -> np.ndarray:
    moved = sight.of_arm(phase.arm).tool_position if phase.moves == "tool" else sight.position(phase.moves)
    return sight.position(phase.anchor)[0] - moved[0]
