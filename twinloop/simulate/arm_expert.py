"""ArmExpert: one arm of the scripted expert. It follows its phases of the task's program in all slots at once.

In each control period it reads the state and the target pose of the current phase, and moves the tool (or the thing in
its grip) towards it with bounded speed and acceleration. Inverse kinematics is damped least squares with
the batched Jacobian J of the tool,

    dq = J^T (J J^T + λ² I)^-1 (twist - J dq0) + dq0,

where dq0 moves the arm slowly towards home in the directions that do not move the tool. A mobile base has no home: it
goes where the arm can take its home posture. It stands still in tasks whose places are all within reach of the arm.
"""

import numpy as np

from twinloop.simulate.base_detour import around_base
from twinloop.simulate.batched import gram, solve_positive, weighted_sum
from twinloop.simulate.predicted_view import PredictedView
from twinloop.simulate.press_limit import PressLimit
from twinloop.simulate.program import CONDITION, Program
from twinloop.simulate.view import View
from twinloop.twin.rotation import DOWN, cross, dot, length, turn_between
from twinloop.twin.twin import ArmIndex, Twin

DAMPING = 0.02
HOMING_PER_S = 0.5
ACCELERATION_M_S2 = 2.5
APPROACH_PER_S = 7.0
TURN_PER_S = 6.0
FASTEST_TURN_RAD_S = 1.5
TURN_ACCELERATION_RAD_S2 = 10.0
VELOCITY_SHARE = 0.4  # of the joints' limits: a stiff servo that catches up after lost commands doubles its speed
TURN_TOLERANCE_RAD = 0.06
LEAD_RAD = 0.2
MOST_AHEAD_RAD = 0.5
"""How far a command may be from the measured position. The predicted position of a joint that is stuck, such as in a
thing that sticks to the table, follows its commands for a while, so `LEAD_RAD` alone does not bound them."""
GRIPPED_N = 3.0
CLOSES_S, MAX_SLOW_S = (
    1.0,
    2.5,
)  # time in which fingers grip a thing, and the most that fingers that close slowly take longer
STALLED_M = 0.055
FUNNEL, FREE_M = 1.5, 0.003
"""Distance held back for each metre of error across the approach, and the error that holds nothing back."""
RISES_M = 0.08
"""How far above the next approach a hand moves back to a thing that it has lost: others may stand in between."""
SECOND = 0.06  # weight of the orientation against the position, for arms with fewer than six joints
STOPS_M = 0.25  # distance from the tool to a bystander's arm at which an expert that yields stops
EVADES_M_S = 1.0


class ArmExpert:
    """One arm of the expert. Call `look`, `judge`, `go_to` and `move` in this order in every control period.

    Attributes:
        program: the arm's phases.
        phase: (width,) index into the arm's phases.
        ticks: (width,) control periods since the phase began.
        target_rad: (width, joints) joint targets, without noise.
    """

    def __init__(self, twin: Twin, index: ArmIndex, *, width: int, foresees: bool):
        self.twin, self.program = twin, Program(twin, width=width, arm=index.number)
        robot, joints = twin.robot, index.columns
        self._home = np.array(robot.home_rad[joints])
        of_base = np.array([name in robot.travels for name in robot.arm_joints[joints]])
        self._homing_per_s = np.where(of_base, 0.0, HOMING_PER_S)
        self._moving = None if twin.task.travels or not of_base.any() else np.where(of_base, 0.0, 1.0)
        self._area = twin.task.area if robot.is_short else None
        self._lowest, self._highest = twin.arm_limits_rad[joints].T
        self._fastest = VELOCITY_SHARE * np.array(robot.velocity_limits_rad_s[joints])
        gripper, speed = index.arm.gripper, (index.arm.robot or robot).closing_speed
        slow_s = 0.0 if speed is None else min(abs(gripper.open - gripper.closed) / speed, MAX_SLOW_S)
        self._closing_ticks = round((CLOSES_S + slow_s) * twin.control_hz)
        self._all = np.arange(width)
        self.phase = np.zeros(width, int)
        self.ticks = np.zeros(width, int)
        self._fresh = np.ones(width, bool)
        self._rises_m = np.zeros(width)
        self._velocity, self._spin = np.zeros((width, 3)), np.zeros((width, 3))
        self.target_rad = np.tile(self._home, (width, 1))
        self._press = PressLimit(
            self.program.phases, arm_joints=np.where(of_base, 0.0, 1.0), width=width, period_s=twin.control_period_s
        )
        self._foresight = PredictedView(twin, self._home, width=width) if foresees else None

    def begin(self, ids: np.ndarray) -> None:
        self.program.begin(ids)
        self.phase[ids] = 0
        self.ticks[ids] = 0
        self._fresh[ids] = True
        self._rises_m[ids] = 0
        self._velocity[ids] = self._spin[ids] = 0
        self.target_rad[ids] = self._home
        if self._foresight is not None:
            self._foresight.begin(ids)

    def halt(self) -> None:
        self._velocity[:] = self._spin[:] = 0

    def look(self, view: View, sent_rad: np.ndarray) -> None:
        """Read the state, and compute how far the tool is from the target of its phase.

        Args:
            sent_rad: (width, joints) the last commands to this arm.
        """
        program = self.program
        if self._foresight is not None:
            view = self._foresight.look(view, sent_rad, program.phases, self.phase)
        self.view = view
        program.enter(view, self.phase, self._fresh)
        self._fresh[:] = False
        self._error, self._moved = program.errors(view, self.phase)
        self._turn = turn_between(view.tool_axes, program.wanted_axes)

    def judge(self) -> tuple[np.ndarray, np.ndarray]:
        """(width,) which phases are done, and (width,) which have lost the thing that they carry."""
        view, program, phase, ticks, turn = self.view, self.program, self.phase, self.ticks, self._turn
        # The next phase corrects a remaining error; the last phase has no next one, so its limit is stricter.
        distance = length(self._funnelled(self._error))
        missing = np.where(self.last, distance + view.tool_lag_m, np.maximum(distance, view.tool_lag_m))
        # An arm with fewer than six joints cannot reach every orientation. Its turn about the approach decides; one
        # with fewer than five cannot choose that either.
        turned = length(turn) if len(self._home) >= 6 else np.abs(dot(turn, program.wanted_axes[:, :, 2]))
        aligned = (turned < TURN_TOLERANCE_RAD) | ~program.turns[phase] | (len(self._home) < 5)
        # Fingers that are blocked by a neighbour close where they are. If they miss the thing, the lift detects it.
        stalled = (ticks > program.stalls[phase]) & (distance < STALLED_M)
        arrived = ((missing < program.tolerance[phase]) & aligned) | stalled
        left, right = view.finger_force_n.T
        # Fingers that close on nothing never press. The phase ends after a while, and the lift detects the loss.
        gripped = (np.minimum(left, right) > GRIPPED_N) | (ticks > self._closing_ticks)
        # Open fingers may touch a neighbour, so a release ends after a second too.
        opened = (np.maximum(left, right) < 0.1) | (ticks > self.twin.control_hz)
        own = program.done(view, phase) if CONDITION in program.until else arrived
        done = np.choose(program.until[phase], [arrived, gripped, opened, own])
        done &= ticks >= program.shortest[phase]
        return done, program.dropped(view, phase)

    @property
    def last(self) -> np.ndarray:
        """(width,) whether the phase is the last of this arm."""
        return self.phase == len(self.program.phases) - 1

    @property
    def late(self) -> np.ndarray:
        """(width,) whether the phase takes longer than it may."""
        return self.ticks > self.program.longest[self.phase]

    def go_to(self, phase: np.ndarray, changed: np.ndarray) -> None:
        """Begin these phases in the slots where `changed` is True."""
        if changed.any():
            self._rises_m[changed] = np.where(phase <= self.phase, RISES_M, 0.0)[changed]
        self.phase = phase
        self.ticks[changed] = 0
        self._fresh |= changed
        if self._fresh.any():
            # Phases that have just begun already have another target in this period.
            program, view = self.program, self.view
            program.enter(view, phase, self._fresh)
            program.update_errors(view, phase, self._fresh, self._error, self._moved)
            self._fresh[:] = False
            self._turn = turn_between(view.tool_axes, program.wanted_axes)

    def _funnelled(self, error: np.ndarray) -> np.ndarray:
        """(width, 3) errors with less advance along the approach, the larger the error across it is."""
        program = self.program
        along = np.where(program.moves_tool[self.phase, None], program.wanted_axes[:, :, 2], DOWN)
        ahead = dot(error, along)
        across = length(error - ahead[:, None] * along)
        room = ahead + self._rises_m
        most = np.minimum(FUNNEL * np.maximum(across - FREE_M, 0), room)
        held_back = np.where(program.funnel[self.phase] & (room > 0), most, 0.0)
        return error - held_back[:, None] * along

    def move(self, pace: np.ndarray | None) -> None:
        """Advance the joint targets by one control period.

        Args:
            pace: (width,) factor on the speed; None for 1.
        """
        view, error, turn, moved = self.view, self._funnelled(self._error), self._turn, self._moved
        period, distance = self.twin.control_period_s, length(error)
        speed = np.minimum(self.program.speed[self.phase], APPROACH_PER_S * distance)
        speed = np.minimum(speed, np.sqrt(2 * ACCELERATION_M_S2 * distance))
        if pace is not None:
            speed = speed * pace
        wanted = error * (speed / np.maximum(distance, 1e-9))[:, None]
        if self._area is not None:
            wanted = around_base(wanted, moved, error, self._area)
        if pace is not None:
            # Move up and away, unless the fingers are closing or opening.
            near = np.clip(1 - view.bystander_distance_m / STOPS_M, 0, 1)
            wanted[:, 2] += EVADES_M_S * near * (self.program.noise[self.phase] > 0)
        if self._press.needed:
            wanted = self._press.applied(wanted, view, self.phase, self.ticks)
        self._velocity += _bounded(wanted - self._velocity, ACCELERATION_M_S2 * period)

        spin = _bounded(TURN_PER_S * turn, FASTEST_TURN_RAD_S)
        self._spin += _bounded(spin - self._spin, TURN_ACCELERATION_RAD_S2 * period)
        twist = np.empty((len(error), 6))
        # A gripped thing that turns with the tool moves with it too.
        twist[:, :3] = self._velocity - cross(self._spin, moved - view.tool_position)
        twist[:, 3:] = self._spin

        position = view.arm_position_rad
        rate = self._rates(view.jacobian(), twist, position)
        rate /= np.maximum(1, (np.abs(rate) / self._fastest).max(axis=1))[:, None]
        target = np.clip(self.target_rad + period * rate, position - LEAD_RAD, position + LEAD_RAD)
        if self._foresight is not None:
            measured = self._foresight.measured_rad
            target = np.clip(target, measured - MOST_AHEAD_RAD, measured + MOST_AHEAD_RAD)
        self.target_rad = np.clip(target, self._lowest, self._highest)

    def _rates(self, jacobian: np.ndarray, twist: np.ndarray, position: np.ndarray) -> np.ndarray:
        """(width, joints) rates of the joints. A joint at its limit does not move further, and others take its part."""
        homing = self._homing_per_s * (self._home - position)
        if len(self._home) < 6:
            # The position comes first where an arm cannot have both.
            jacobian = np.concatenate([jacobian[:3], SECOND * jacobian[3:]])
            twist = np.concatenate([twist[:, :3], SECOND * twist[:, 3:]], axis=1)
        if self._moving is not None:
            jacobian = jacobian * self._moving[:, None]
        rate = _least_squares(jacobian, twist, homing)
        ahead = self.target_rad + self.twin.control_period_s * rate
        stopped = ((ahead > self._highest) & (rate > 0)) | ((ahead < self._lowest) & (rate < 0))
        rows = np.flatnonzero(stopped.any(axis=1))
        if len(rows):
            free = np.ascontiguousarray(~stopped[rows].T)
            rate[rows] = _least_squares(jacobian[:, :, rows] * free, twist[rows], homing[rows] * free.T)
        return rate


def _bounded(vectors: np.ndarray, longest: float) -> np.ndarray:
    """(n, 3) vectors, none longer than `longest`."""
    return vectors * np.minimum(1, longest / np.maximum(length(vectors), 1e-9))[:, None]


def _least_squares(jacobian: np.ndarray, twist: np.ndarray, homing: np.ndarray) -> np.ndarray:
    """(n, joints) rates that give the tool its twist, and the homing rates in the remaining directions."""
    rest_rates = np.ascontiguousarray(homing.T)
    products = gram(jacobian)
    diagonal = np.arange(6)
    products[diagonal, diagonal] += DAMPING**2
    weights = solve_positive(products, twist.T - weighted_sum(jacobian, rest_rates))
    return (weighted_sum(jacobian.transpose(1, 0, 2), weights) + rest_rates).T.copy()
