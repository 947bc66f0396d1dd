"""The scripted expert: follows a task's program in closed loop, in all slots at once.

In each control period it reads the state and the target pose of the current phase, and moves the tool (or the thing in
its grip) towards it with bounded speed and acceleration. Inverse kinematics is damped least squares with
the batched Jacobian J of the tool,

    dq = J^T (J J^T + λ² I)^-1 (twist - J dq0) + dq0,

where dq0 moves the arm slowly towards home in the directions that do not move the tool.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.config.fields import flag, integer, number
from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.actor import SlotActions
from twinloop.simulate.batched import gram, solve_positive, weighted_sum
from twinloop.simulate.predicted_view import PredictedView
from twinloop.simulate.program import CONDITION, Program
from twinloop.simulate.termination import fallen
from twinloop.simulate.view import View
from twinloop.twin.rotation import DOWN, cross, dot, length, turn_between
from twinloop.twin.twin import Twin

DAMPING = 0.02
HOMING_PER_S = 0.5
ACCELERATION_M_S2 = 2.5
APPROACH_PER_S = 7.0
TURN_PER_S = 6.0
FASTEST_TURN_RAD_S = 1.5
TURN_TOLERANCE_RAD = 0.06
LEAD_RAD = 0.2
GRIPPED_N = 3.0
FUNNEL = 1.5
SECOND = 0.2  # weight of the orientation against the position, for arms with fewer than six joints
STOPS_M, SLOWS_M = 0.25, 0.4  # distances from the tool to a bystander's arm, for an expert that yields
EVADES_M_S = 1.0
SLIPS_S, SLIP_S = (0.8, 5.0), 0.4  # range of the time at which fingers slip, and duration of a slip


@dataclass(frozen=True)
class ExpertConfig:
    """The scripted demonstrator.

    A slip is not part of the recorded action, so a policy learns the recovery and not the slip.
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


class Expert:
    """The scripted expert.

    Args:
        foresees: predict where the joints will be after the last commands (`PredictedView`). False if the View that
            is given to `act` is already predicted.
    """

    def __init__(self, twin: Twin, config: ExpertConfig, *, width: int, seed: int, foresees: bool = True):
        self.twin, self.config, self.seed = twin, config, seed
        self._program = Program(twin, width=width)
        self._home = np.array(twin.robot.home_rad)
        self._lowest, self._highest = twin.arm_limits_rad.T
        self._fastest = 0.9 * np.array(twin.robot.velocity_limits_rad_s)
        joints = len(twin.arm_joints)
        self._all = np.arange(width)
        self._phase = np.zeros(width, int)
        self._ticks = np.zeros(width, int)
        self._tick = np.zeros(width, int)
        self._fresh = np.ones(width, bool)
        self._retries = np.zeros(width, int)
        self._velocity = np.zeros((width, 3))
        self._target = np.tile(self._home, (width, 1))
        self._sent = self._target.copy()
        self._foresight = PredictedView(twin, width=width) if foresees else None
        self._white = np.zeros((width, twin.longest_ticks + 1, joints))
        self._noise = np.zeros((width, joints))
        self._slips_at = np.full(width, twin.longest_ticks)
        self._slip = round(SLIP_S * twin.control_hz)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self._program.begin(ids)
        self._phase[ids] = 0
        self._ticks[ids] = 0
        self._tick[ids] = 0
        self._fresh[ids] = True
        self._retries[ids] = 0
        self._velocity[ids] = 0
        self._target[ids] = self._sent[ids] = self._home
        if self._foresight is not None:
            self._foresight.begin(ids)
        if self.config.action_noise_rad > 0:
            # One episode at a time: each has its own generator, independent of its slot and batch.
            for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
                rng = episode_rng(self.seed, int(attempt), stream="action noise")
                rng.standard_normal(out=self._white[slot])
            self._noise[ids] = self.config.action_noise_rad * self._white[ids, 0]
        if self.config.slips > 0:
            for slot, attempt in zip(ids, draws.attempts[rows], strict=True):
                chance, moment = episode_rng(self.seed, int(attempt), stream="slips").random(2)
                at_s = SLIPS_S[0] + moment * (SLIPS_S[1] - SLIPS_S[0])
                never = chance >= self.config.slips
                self._slips_at[slot] = self.twin.longest_ticks if never else round(at_s * self.twin.control_hz)

    def halt(self) -> None:
        """Set the velocity to zero after an external stop, so that the next period starts from rest."""
        self._velocity[:] = 0

    def act(self, cell: View) -> SlotActions:
        program = self._program
        if self._foresight is not None:
            cell = self._foresight.look(cell, self._sent, program.phases, self._phase)
        program.enter(cell, self._phase, self._fresh)
        self._fresh[:] = False
        error, moved = program.errors(cell, self._phase)
        turn = turn_between(cell.tool_axes, program.wanted_axes)
        over, lost = self._advance(cell, self._funnelled(error), turn)
        if self._fresh.any():
            # Phases that have just begun already have another target in this period.
            program.enter(cell, self._phase, self._fresh)
            program.update_errors(cell, self._phase, self._fresh, error, moved)
            self._fresh[:] = False
            turn = turn_between(cell.tool_axes, program.wanted_axes)
        pace = self._pace(cell)
        self._move(cell, self._funnelled(error), turn, moved, pace)
        gripper = self.twin.robot.gripper
        opening = np.where(program.closed[self._phase], gripper.closed, gripper.open)
        slipping = (self._tick >= self._slips_at) & (self._tick < self._slips_at + self._slip)
        noise = self._noise * program.noise[self._phase, None]
        command = np.clip(self._target + noise, self._lowest, self._highest)
        self._sent = command
        # Time spent waiting for a bystander does not count towards a phase's time.
        self._ticks += 1 if pace is None else pace > 0
        program.memory.elapsed_s[:] = self._ticks * self.twin.control_period_s
        self._tick = np.minimum(self._tick + 1, self._white.shape[1] - 1)
        self._drift_on()
        return SlotActions(
            arm_rad=self._target.copy(),
            opening=opening,
            command_rad=command,
            command_opening=np.where(slipping, gripper.closed + gripper.open - opening, opening),
            phase=self._phase.copy(),
            over=over,
            lost=lost,
            retries=self._retries,
        )

    def _drift_on(self) -> None:
        """Advance the correlated noise: a first-order process with the configured standard deviation."""
        keep = np.exp(-self.twin.control_period_s / self.config.noise_memory_s)
        fresh = self.config.action_noise_rad * np.sqrt(1 - keep**2)
        self._noise = keep * self._noise + fresh * self._white[self._all, self._tick]

    def _funnelled(self, error: np.ndarray) -> np.ndarray:
        """(width, 3) errors with less advance along the approach, the larger the error across it is."""
        program = self._program
        along = np.where(program.moves_tool[self._phase, None], program.wanted_axes[:, :, 2], DOWN)
        ahead = dot(error, along)
        across = length(error - ahead[:, None] * along)
        held_back = np.where(program.funnel[self._phase] & (ahead > 0), np.minimum(FUNNEL * across, ahead), 0.0)
        return error - held_back[:, None] * along

    def _advance(self, cell: View, error: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Go to the next phase, or back to the phase that grasps after a lost grasp.

        Returns:
            (width,) which slots are over, and (width,) which are lost.
        """
        program, phase, ticks = self._program, self._phase, self._ticks
        # The next phase corrects a remaining error; the last phase has no next one, so its limit is stricter.
        last = phase == len(program.phases) - 1
        distance = length(error)
        missing = np.where(last, distance + cell.tool_lag_m, np.maximum(distance, cell.tool_lag_m))
        # An arm with fewer than six joints cannot reach every orientation. Its turn about the approach decides.
        turned = length(turn) if len(self._home) >= 6 else np.abs(dot(turn, program.wanted_axes[:, :, 2]))
        aligned = (turned < TURN_TOLERANCE_RAD) | ~program.turns[phase]
        arrived = (missing < program.tolerance[phase]) & aligned
        left, right = cell.finger_force_n.T
        # Fingers that close on nothing never press. The phase ends after a second, and the lift detects the loss.
        gripped = (np.minimum(left, right) > GRIPPED_N) | (ticks > self.twin.control_hz)
        # Open fingers may touch a neighbour, so a release ends after a second too.
        opened = (np.maximum(left, right) < 0.1) | (ticks > self.twin.control_hz)
        own = program.done(cell, phase) if CONDITION in program.until else arrived
        done = np.choose(program.until[phase], [arrived, gripped, opened, own])
        done &= ticks >= program.shortest[phase]

        dropped = program.dropped(cell, phase)
        again = dropped & (self._retries < self.config.retries)
        late = ticks > program.longest[phase]
        lost = (dropped & ~again) | (late & ~done) | fallen(cell, self.twin)
        finished = done & last

        onward = done & ~finished & ~dropped
        self._phase = np.where(again, program.retry[phase], phase + onward)
        self._retries += again
        changed = again | onward
        self._ticks[changed] = 0
        self._fresh |= changed
        return finished | lost, lost

    def _pace(self, cell: View) -> np.ndarray | None:
        """(width,) factor on speed: lower the nearer a bystander's arm is. None if the expert does not yield."""
        if not self.config.yields_to_people or "bystander" not in self.twin.surroundings:
            return None
        return np.clip((cell.bystander_distance_m - STOPS_M) / (SLOWS_M - STOPS_M), 0, 1)

    def _move(
        self, cell: View, error: np.ndarray, turn: np.ndarray, moved: np.ndarray, pace: np.ndarray | None
    ) -> None:
        """Advance the joint targets by one control period."""
        period, distance = self.twin.control_period_s, length(error)
        speed = np.minimum(self._program.speed[self._phase], APPROACH_PER_S * distance)
        speed = np.minimum(speed, np.sqrt(2 * ACCELERATION_M_S2 * distance))
        if pace is not None:
            speed = speed * pace
        wanted = error * (speed / np.maximum(distance, 1e-9))[:, None]
        if pace is not None:
            # Move up and away, unless the fingers are closing or opening.
            near = np.clip(1 - cell.bystander_distance_m / STOPS_M, 0, 1)
            wanted[:, 2] += EVADES_M_S * near * (self._program.noise[self._phase] > 0)
        change = wanted - self._velocity
        size = length(change)
        self._velocity += change * np.minimum(1, ACCELERATION_M_S2 * period / np.maximum(size, 1e-9))[:, None]

        spin = TURN_PER_S * turn
        spin *= np.minimum(1, FASTEST_TURN_RAD_S / np.maximum(length(spin), 1e-9))[:, None]
        twist = np.empty((len(error), 6))
        # A gripped thing that turns with the tool moves with it too.
        twist[:, :3] = self._velocity - cross(spin, moved - cell.tool_position)
        twist[:, 3:] = spin

        position = cell.arm_position_rad
        rate = self._rates(cell.jacobian(), twist, position)
        rate /= np.maximum(1, (np.abs(rate) / self._fastest).max(axis=1))[:, None]
        target = np.clip(self._target + period * rate, position - LEAD_RAD, position + LEAD_RAD)
        self._target = np.clip(target, self._lowest, self._highest)

    def _rates(self, jacobian: np.ndarray, twist: np.ndarray, position: np.ndarray) -> np.ndarray:
        """(width, joints) rates of the joints. A joint at its limit does not move further, and others take its part."""
        homing = HOMING_PER_S * (self._home - position)
        if len(self._home) < 6:
            # The position comes first where an arm cannot have both.
            jacobian = np.concatenate([jacobian[:3], SECOND * jacobian[3:]])
            twist = np.concatenate([twist[:, :3], SECOND * twist[:, 3:]], axis=1)
        rate = _least_squares(jacobian, twist, homing)
        ahead = self._target + self.twin.control_period_s * rate
        stopped = ((ahead > self._highest) & (rate > 0)) | ((ahead < self._lowest) & (rate < 0))
        rows = np.flatnonzero(stopped.any(axis=1))
        if len(rows):
            free = np.ascontiguousarray(~stopped[rows].T)
            rate[rows] = _least_squares(jacobian[:, :, rows] * free, twist[rows], homing[rows] * free.T)
        return rate


def _least_squares(jacobian: np.ndarray, twist: np.ndarray, homing: np.ndarray) -> np.ndarray:
    """(n, joints) rates that give the tool its twist, and the homing rates in the remaining directions."""
    rest_rates = np.ascontiguousarray(homing.T)
    products = gram(jacobian)
    diagonal = np.arange(6)
    products[diagonal, diagonal] += DAMPING**2
    weights = solve_positive(products, twist.T - weighted_sum(jacobian, rest_rates))
    return (weighted_sum(jacobian.transpose(1, 0, 2), weights) + rest_rates).T.copy()
