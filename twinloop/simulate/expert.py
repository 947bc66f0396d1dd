"""The scripted expert: follows a task's program in closed loop, in all slots at once.

Each arm follows its own phases (`arm_expert.py`). Arms run in parallel and wait for each other between the steps of the
program. A lost grasp takes all arms back to the step in which it began.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.config.fields import flag, integer, number, of_kind
from twinloop.config.kinds import Number
from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.arm_expert import STOPS_M, ArmExpert
from twinloop.simulate.termination import fallen
from twinloop.simulate.view import View
from twinloop.twin.twin import Twin

SLOWS_M = 0.4  # distance from the tool to a bystander's arm at which an expert that yields becomes slower
SLIPS_S, SLIP_S = (0.8, 5.0), 0.4  # range of the time at which fingers slip, and duration of a slip
UNSTEADY_S = 1.5
"""Time at the beginning of a precise phase in which an unsteady arm has the full noise."""
DRAWN_TICKS = 128
"""Control periods for which noise is drawn at once. Most episodes end long before the longest that is allowed."""


@dataclass(frozen=True)
class ExpertConfig:
    """The scripted demonstrator.

    Noise and slips are not part of the recorded action, so a policy learns the recovery and not the error.
    """

    action_noise_rad: float = number(
        0.005, low=0, high=0.2, unit="rad", help="standard deviation of the noise on commands; 0 for none"
    )
    noise_memory_s: float = number(0.3, low=0.001, high=10, unit="s", help="correlation time of that noise")
    retries: int = integer(3, low=0, high=10, help="how often a lost grasp is tried again")
    yields_to_people: bool = flag(False, help="slow down near a bystander's arm; stop and move up while it is too near")
    slips: float = number(
        0.0, low=0, high=1, help="share of episodes in which the fingers open or close once at the wrong moment"
    )
    unsteady: float = of_kind(
        Number(low=0, high=1, omit_default=True,
               help="share of episodes in which noise is not reduced where a task needs precision"), 0.0,
    )  # fmt: skip


class Expert:
    """The scripted expert.

    Args:
        foresees: predict where the joints will be after the last commands (`PredictedView`). False if the View that
            is given to `act` is already predicted.
    """

    def __init__(self, twin: Twin, config: ExpertConfig, *, width: int, seed: int, foresees: bool = True):
        self.twin, self.config, self.seed = twin, config, seed
        self._arms = tuple(ArmExpert(twin, index, width=width, foresees=foresees) for index in twin.arms)
        self._home = np.array(twin.robot.home_rad)
        self._lowest, self._highest = twin.arm_limits_rad.T
        grippers = [index.arm.gripper for index in twin.arms]
        self._open, self._closed = (
            np.array([getattr(gripper, name) for gripper in grippers]) for name in ("open", "closed")
        )
        speeds = [(index.arm.robot or twin.robot).closing_speed for index in twin.arms]
        self._closes = np.array([np.inf if speed is None else speed * twin.control_period_s for speed in speeds])
        self._closes_slowly = bool(np.isfinite(self._closes).any())
        self._opening = np.tile(self._open, (width, 1))
        self._all = np.arange(width)
        self._tick = np.zeros(width, int)
        self._retries = np.zeros(width, int)
        self._ready = np.zeros((len(twin.arms), width), bool)
        self._sent = np.tile(self._home, (width, 1))
        self._white = np.zeros((width, twin.longest_ticks + 1, twin.joints))
        self._noise = np.zeros((width, twin.joints))
        self._rngs: dict[int, np.random.Generator] = {}
        self._drawn = np.full(width, twin.longest_ticks + 1)
        self._slips_at = np.full(width, twin.longest_ticks)
        self._slip = round(SLIP_S * twin.control_hz)
        self._unsteady = np.zeros(width, bool)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        for arm in self._arms:
            arm.begin(ids)
        self._tick[ids] = 0
        self._retries[ids] = 0
        self._ready[:, ids] = False
        self._sent[ids] = self._home
        self._opening[ids] = self._open
        if self.config.action_noise_rad > 0:
            # One episode at a time: each has its own generator, independent of its slot and batch.
            for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
                self._rngs[slot] = episode_rng(self.seed, int(attempt), stream="action noise")
            self._drawn[ids] = 0
            self._draw_noise(ids)
            self._noise[ids] = self.config.action_noise_rad * self._white[ids, 0]
        if self.config.slips > 0:
            for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
                chance, moment = episode_rng(self.seed, int(attempt), stream="slips").random(2)
                at_s = SLIPS_S[0] + moment * (SLIPS_S[1] - SLIPS_S[0])
                never = chance >= self.config.slips
                self._slips_at[slot] = self.twin.longest_ticks if never else round(at_s * self.twin.control_hz)
        if self.config.unsteady > 0:
            for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
                chance = episode_rng(self.seed, int(attempt), stream="unsteady").random()
                self._unsteady[slot] = chance < self.config.unsteady

    def halt(self) -> None:
        """Set the velocity to zero after an external stop, so that the next period starts from rest."""
        for arm in self._arms:
            arm.halt()

    def act(self, cell: View) -> SlotActions:
        for arm, index, view in zip(self._arms, self.twin.arms, cell.arms, strict=True):
            arm.look(view, self._sent[:, index.columns])
        over, lost = self._advance()
        pace = self._pace(cell)
        for arm in self._arms:
            arm.move(pace)
        target = _joined([arm.target_rad for arm in self._arms])
        closed = np.stack([arm.program.closed[arm.phase] for arm in self._arms], axis=1)
        opening = np.where(closed, self._closed, self._open)
        if self._closes_slowly:
            # The joint of some grippers increases as they close.
            step = np.clip(opening - self._opening, -self._closes, self._closes)
            opening = self._opening = np.where(closed, self._opening + step, opening)
        slipping = (self._tick >= self._slips_at) & (self._tick < self._slips_at + self._slip)
        noise = _joined([self._noise[:, index.columns] * self._noise_factor(arm)[:, None]
                         for index, arm in zip(self.twin.arms, self._arms, strict=True)])  # fmt: skip
        command = np.clip(target + noise, self._lowest, self._highest)
        self._sent = command
        # Time spent waiting for a bystander does not count towards a phase's time.
        passed = 1 if pace is None else pace > 0
        for arm in self._arms:
            arm.ticks += passed
            arm.program.memory.elapsed_s[:] = arm.ticks * self.twin.control_period_s
        self._tick = np.minimum(self._tick + 1, self._white.shape[1] - 1)
        self._drift_on()
        return SlotActions(
            arm_rad=target.copy(),
            opening=opening,
            command_rad=command,
            command_opening=np.where(slipping[:, None], self._closed + self._open - opening, opening),
            phase=self._current_phase(),
            over=over,
            lost=lost,
            retries=self._retries,
        )

    def _noise_factor(self, arm: ArmExpert) -> np.ndarray:
        """(width,) factor on the noise of an arm. It is lower where the task needs precision."""
        factor = arm.program.noise[arm.phase]
        unsteady = self._unsteady & (factor > 0) & (arm.ticks < UNSTEADY_S * self.twin.control_hz)
        return np.where(unsteady, np.maximum(factor, 1.0), factor)

    def _draw_noise(self, ids: np.ndarray) -> None:
        """Draw the noise of the next control periods of these slots. The numbers are those of one draw for all."""
        for slot in ids:
            first = self._drawn[slot]
            self._rngs[slot].standard_normal(out=self._white[slot, first : first + DRAWN_TICKS])
        self._drawn[ids] += DRAWN_TICKS

    def _drift_on(self) -> None:
        """Advance the correlated noise: a first-order process with the configured standard deviation."""
        used_up = np.flatnonzero(self._tick >= self._drawn)
        if len(used_up):
            self._draw_noise(used_up)
        keep = np.exp(-self.twin.control_period_s / self.config.noise_memory_s)
        fresh = self.config.action_noise_rad * np.sqrt(1 - keep**2)
        self._noise = keep * self._noise + fresh * self._white[self._all, self._tick]

    def _advance(self) -> tuple[np.ndarray, np.ndarray]:
        """Go to the next phases, or back to the phase that grasps after a lost grasp.

        Returns:
            (width,) which slots are over, and (width,) which are lost.
        """
        judged = [arm.judge() for arm in self._arms]
        dropped = np.logical_or.reduce([lost for _, lost in judged])
        # An arm that has done its part of a step may have to wait for others, and is then done whatever happens.
        done = [done | ready for (done, _), ready in zip(judged, self._ready, strict=True)]
        again = dropped & (self._retries < self.config.retries)
        late = np.logical_or.reduce([arm.late & ~over for arm, over in zip(self._arms, done, strict=True)])
        lost = (dropped & ~again) | late | fallen(self._arms[0].view, self.twin)
        finished = np.logical_and.reduce([over & arm.last for arm, over in zip(self._arms, done, strict=True)])

        next_step = [arm.program.next_step(arm.phase, over) for arm, over in zip(self._arms, done, strict=True)]
        reached = np.minimum.reduce(next_step)
        retried_step = self._retried_step([lost for _, lost in judged])
        self._retries += again
        for place, arm in enumerate(self._arms):
            program, phase = arm.program, arm.phase
            # A phase of a later step begins when all arms have done their part of the steps before it.
            onward = done[place] & ~arm.last & ~dropped & (next_step[place] <= reached)
            back = np.where(judged[place][1], program.retry[phase], program.first_of_step(phase, retried_step))
            changed = onward | (again & (back != phase)) | (again & judged[place][1])
            arm.go_to(np.where(again, back, phase + onward), changed)
            self._ready[place] = done[place] & ~changed
        return finished | lost, lost

    def _retried_step(self, dropped: list[np.ndarray]) -> np.ndarray:
        """(width,) the step to which a lost grasp goes back."""
        steps = [np.where(lost, arm.program.step[arm.program.retry[arm.phase]], arm.program.last_step)
                 for arm, lost in zip(self._arms, dropped, strict=True)]  # fmt: skip
        return np.minimum.reduce(steps)

    def _current_phase(self) -> np.ndarray:
        """(width,) number of the first phase of the task's program that is not done."""
        numbers = [arm.program.numbers[arm.phase] for arm in self._arms]
        if len(numbers) == 1:
            return numbers[0]
        waiting = [np.where(ready, len(self.twin.task.phases) - 1, number)
                   for number, ready in zip(numbers, self._ready, strict=True)]  # fmt: skip
        return np.minimum.reduce(waiting)

    def _pace(self, cell: View) -> np.ndarray | None:
        """(width,) factor on speed: lower the nearer a bystander's arm is. None if the expert does not yield."""
        if not self.config.yields_to_people or "bystander" not in self.twin.surroundings:
            return None
        return np.clip((cell.bystander_distance_m - STOPS_M) / (SLOWS_M - STOPS_M), 0, 1)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """(width, joints of all arms)."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
