"""BipedExpert: a scripted walk for humanoids. It demonstrates walking, and policies can be cloned from it.

`StepBalance` says where feet land and where the pressure is, `LegKinematics` turns this into joint targets. Before the
first step, the weight is shifted from foot to foot until it is over the foot that stands.
"""

import numpy as np

from twinloop.errors import UsageError
from twinloop.simulate.leg_kinematics import LegKinematics
from twinloop.simulate.step_balance import StepBalance
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.walk_twin import WalkTwin

STANCE_SHARE = 0.55
"""Share of the step period in which a foot stands."""
LIFT_WITHIN, LIFT_OFFSET_M = 0.4, 0.08
"""A foot is lifted within this share of its swing, if the pendulum's state is less than this inward of the other."""
WALK_OFFSET_M, WALKS_FOR = 0.3, 15
"""The same distance for a robot that has taken a step within this number of control periods."""
LANDED = 0.9
"""Share of the swing at which the foot is above its landing place."""
DOWN_M_S, LATE_S = 0.3, 0.15
"""Speed at which a foot that has not landed in time moves down, and time after which it counts as landed."""
SETTLES, SLID_M, CONTACT_N = 3, 0.05, 30.0
"""Control periods until a foot that has landed rests, distance of a foot that has slid, and force of a contact."""
BALANCE_AFTER = 5
"""Control periods after a step until two feet balance the body."""
CROUCH_M, CROUCH_TICKS = 0.08, 25
"""How much lower than in the nominal pose the pelvis is, so that legs can reach further, and control periods until it
is there. The first step is taken then."""
GIVES = 0.15
"""Share of its tilt that the pelvis may keep over one foot. A stiffer hip would push the body off its foot."""
ACCELERATION = np.array([0.3, 0.2, 0.5])
"""Largest change of the velocity that is asked for, in m/s² and rad/s²."""
INTEGRAL_PER_S, MAX_CORRECTION_M_S = 0.5, 0.2
"""Gain of the integral of velocity errors, and its bound."""
MAX_TWIST_RAD = 0.3
"""Largest distance of the wanted heading from that of the pelvis."""


class BipedExpert:
    """Joint targets of a walk for all slots of a cell. It knows the true motion of the base.

    Raises:
        UsageError: the robot does not have two legs with six joints each.
    """

    def __init__(self, twin: WalkTwin, *, width: int):
        robot = twin.robot
        if len(robot.feet) != 2 or twin.joints != 12:
            raise UsageError(f"the scripted walk is for robots with two legs of 6 joints; {robot.name} is none")
        self.twin, self._legs = twin, LegKinematics(twin)
        feet = self._legs.feet_m
        self._side, self._drop_m = np.sign(feet[:, 1]), -float(feet[:, 2].mean())
        self._com_height_m = self._drop_m + self._legs.com_m[2]
        self._balance = StepBalance(
            com_height_m=self._com_height_m, width_m=float(abs(feet[0, 1] - feet[1, 1])), side=self._side,
            step_period_s=robot.step_period_s,
        )  # fmt: skip
        self._lifted, self._stood = np.zeros((width, 2), bool), np.zeros(width, int)
        self._swung_s, self._lasts_s = np.zeros((width, 2)), np.ones((width, 2))
        self._lift_m, self._foot_yaw = np.zeros((width, 2, 2)), np.zeros((width, 2))
        self._place_m, self._down = np.zeros((width, 2, 2)), np.zeros((width, 2), int)
        self._asked, self._correction = np.zeros((width, 3)), np.zeros((width, 2))
        self._heading, self._fresh = np.zeros(width), np.ones(width, bool)
        self._angles = np.tile(self._legs.home, (width, 1))

    def begin(self, ids: np.ndarray) -> None:
        """New episodes begin in slots `ids`."""
        self._fresh[ids], self._lifted[ids], self._angles[ids] = True, False, self._legs.home
        self._stood[ids], self._down[ids] = BALANCE_AFTER, 0
        self._asked[ids], self._correction[ids] = 0, 0

    def targets(
        self, cell: WalkCell, velocity: np.ndarray, phase: np.ndarray, moving: np.ndarray, ids: np.ndarray | None = None
    ) -> np.ndarray:
        """(width, 12) joint targets. Call once in each control period of a slot.

        Args:
            velocity: (width, 3) command: forward, left, turn.
            phase: (width, 2) place of each foot in its step period, from 0 to 1.
            moving: (width,) False for robots that stand still.
            ids: slots that are in a new control period; None for all.
        """
        rows = np.arange(cell.width) if ids is None else ids
        moving, phase = moving[rows], phase[rows]
        axes, base, feet = cell.base_axes[rows], cell.base_position[rows], cell.foot_position[rows]
        self._turn(rows, np.arctan2(axes[:, 1, 0], axes[:, 0, 0]))
        level = _about_z(self._heading[rows])
        com = axes @ self._legs.com_m
        turn = np.einsum("nij,nj->ni", axes, cell.turn_rad_s[rows])
        speed = _into(level, cell.velocity_m_s[rows] + np.cross(turn, com))[:, :2]
        # The feet and the pendulum's state in the frame of the heading, from the base.
        spots = np.stack([_into(level, feet[:, foot] - base)[:, :2] for foot in (0, 1)], axis=1)
        centre = _into(level, com)[:, :2]
        state = centre + speed / self._balance.rate
        velocity = self._ask(rows, velocity[rows], speed, moving)
        force_n = cell.foot_force_n[rows]
        self._lift_and_land(rows, phase, moving & (cell.tick[rows] > CROUCH_TICKS), spots, state, feet, force_n)
        lifted = self._lifted[rows]
        upright = _yielding(level.transpose(0, 2, 1) @ axes, np.where(lifted.any(axis=1), GIVES, 0.0))
        drop_m = self._drop_m - CROUCH_M * np.minimum(cell.tick[rows] / CROUCH_TICKS, 1)
        places, turns = np.zeros((len(rows), 2, 3)), np.zeros((len(rows), 2, 3, 3))
        for foot in (0, 1):
            flat = _about_z(self._foot_yaw[rows, foot])
            landing = self._landing(rows, foot, spots, state, velocity) + spots[:, 1 - foot]
            swings = self._swinging(rows, foot, base[:, :2] + _out_of(level, landing), cell.height_m[rows])
            swings[:, :2] -= base[:, :2]
            # The body moves freely over a foot that stands; the height and the upright pelvis are held.
            placed = self._placed(rows, foot, feet[:, foot, :2], force_n[:, foot]) - base[:, :2]
            stands = np.column_stack([_into(level[:, :2, :2], placed), -drop_m])
            swinging = lifted[:, foot]
            places[:, foot] = np.where(swinging[:, None], _into(axes, swings), _into(upright, stands))
            stood = upright.transpose(0, 2, 1) @ level.transpose(0, 2, 1) @ flat
            turns[:, foot] = np.where(swinging[:, None, None], axes.transpose(0, 2, 1) @ flat, stood)
        force, pressure = self._forces(rows, spots, centre, state, velocity, phase, moving)
        self._angles[rows] = self._legs.solved(self._angles[rows], places, turns)
        targets = np.tile(self._legs.home, (cell.width, 1))
        targets[rows] = self._legs.loaded(self._angles[rows], force, pressure)
        return targets

    def _turn(self, rows: np.ndarray, yaw: np.ndarray) -> None:
        """Move the heading on with the turn rate that is asked for. It stays near the heading of the pelvis."""
        fresh = self._fresh[rows]
        self._fresh[rows] = False
        heading = np.where(fresh, yaw, self._heading[rows] + self._asked[rows, 2] * self.twin.control_period_s)
        ahead = (heading - yaw + np.pi) % (2 * np.pi) - np.pi
        self._heading[rows] = yaw + np.clip(ahead, -MAX_TWIST_RAD, MAX_TWIST_RAD)
        self._foot_yaw[rows] = np.where(fresh[:, None], yaw[:, None], self._foot_yaw[rows])

    def _ask(self, rows: np.ndarray, command: np.ndarray, speed: np.ndarray, moving: np.ndarray) -> np.ndarray:
        """(n, 2) the commanded velocity with limited acceleration, plus the integral of the velocity errors."""
        period_s = self.twin.control_period_s
        self._asked[rows] += np.clip(command - self._asked[rows], -ACCELERATION * period_s, ACCELERATION * period_s)
        asked = self._asked[rows, :2]
        correction = self._correction[rows] + INTEGRAL_PER_S * period_s * (asked - speed)
        self._correction[rows] = np.clip(correction, -MAX_CORRECTION_M_S, MAX_CORRECTION_M_S) * moving[:, None]
        return asked + self._correction[rows]

    def _lift_and_land(
        self, rows: np.ndarray, phase: np.ndarray, moving: np.ndarray, spots: np.ndarray, state: np.ndarray,
        feet: np.ndarray, force_n: np.ndarray,
    ) -> None:  # fmt: skip
        """Lift feet whose swing is due and whose weight is over the other foot, and end swings at a contact."""
        lifted, share = self._lifted[rows], np.clip((phase - STANCE_SHARE) / (1 - STANCE_SHARE), 0, 1)
        inward_m = np.where(self._stood[rows] < WALKS_FOR, WALK_OFFSET_M, LIFT_OFFSET_M)
        for foot in (0, 1):
            other = 1 - foot
            ready = -self._side[other] * (state - spots[:, other])[:, 1] < inward_m
            due = (share[:, foot] > 0) & (share[:, foot] < LIFT_WITHIN) & moving
            starts = due & ready & ~lifted.any(axis=1)
            swung_s, lasts_s = self._swung_s[rows, foot] + self.twin.control_period_s, self._lasts_s[rows, foot]
            ends = ((swung_s > 0.6 * lasts_s) & (force_n[:, foot] > CONTACT_N)) | (swung_s > lasts_s + LATE_S)
            lifted[:, foot] = (lifted[:, foot] & ~ends) | starts
            self._swung_s[rows, foot] = np.where(starts, 0, swung_s)
            self._lift_m[rows[starts], foot] = feet[starts, foot, :2]
            whole_s = (1 - STANCE_SHARE) * self.twin.robot.step_period_s
            self._lasts_s[rows[starts], foot] = (1 - share[starts, foot]) * whole_s
            swinging = rows[lifted[:, foot]]
            self._foot_yaw[swinging, foot] = self._heading[swinging]
        self._lifted[rows] = lifted
        self._stood[rows] = np.where(lifted.any(axis=1), 0, self._stood[rows] + 1)

    def _landing(
        self, rows: np.ndarray, foot: int, spots: np.ndarray, state: np.ndarray, velocity: np.ndarray
    ) -> np.ndarray:
        """(n, 2) where a foot that swings lands, from the other foot."""
        left_s = np.maximum(self._lasts_s[rows, foot] - self._swung_s[rows, foot], 0)
        return self._balance.landing(foot, state - spots[:, 1 - foot], velocity, left_s)

    def _swinging(self, rows: np.ndarray, foot: int, landing: np.ndarray, height_m: np.ndarray) -> np.ndarray:
        """(n, 3) where a foot that swings is: its place in the world, and its height from the base."""
        due_s = LANDED * self._lasts_s[rows, foot]
        moved = np.clip(self._swung_s[rows, foot] / due_s, 0, 1)
        smooth = (0.5 - 0.5 * np.cos(np.pi * moved))[:, None]
        lift = self.twin.robot.swing_height_m * np.sin(np.pi * moved)
        late_m = DOWN_M_S * np.maximum(self._swung_s[rows, foot] - due_s, 0)
        way = self._lift_m[rows, foot] * (1 - smooth) + landing * smooth
        return np.column_stack([way, lift - late_m + self.twin.foot_rest_m - height_m])

    def _placed(self, rows: np.ndarray, foot: int, places: np.ndarray, force_n: np.ndarray) -> np.ndarray:
        """(n, 2) where a foot has been put down, in the world. It is held there, so that feet do not slide apart."""
        lifted, down, held = self._lifted[rows, foot], self._down[rows, foot], self._place_m[rows, foot]
        new = lifted | (down < SETTLES) | (np.linalg.norm(places - held, axis=1) > SLID_M)
        self._down[rows, foot] = np.where(lifted, 0, down + (force_n > CONTACT_N))
        self._place_m[rows, foot] = np.where(new[:, None], places, held)
        return self._place_m[rows, foot]

    def _forces(
        self, rows: np.ndarray, spots: np.ndarray, centre: np.ndarray, state: np.ndarray, velocity: np.ndarray,
        phase: np.ndarray, moving: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """(n, 2, 3) force of each foot on the ground, and (n, 2, 2) place of the pressure in it."""
        lifted, pressure = self._lifted[rows], np.zeros((len(rows), 2, 2))
        load = np.where(lifted, 0.0, np.where(lifted[:, ::-1], 1.0, 0.5))
        for foot in (0, 1):
            alone = lifted[:, 1 - foot]
            since_s = np.clip(phase[:, foot], 0, 0.5) * self.twin.robot.step_period_s
            place = self._balance.on_one_foot(foot, state - spots[:, foot], velocity, since_s)
            pressure[alone, foot] = place[alone]
        middle = spots.mean(axis=1)
        shares, ahead_m = self._balance.on_two_feet(spots - middle[:, None], state - middle, phase[:, 0], moving)
        balances = ~lifted.any(axis=1) & (self._stood[rows] > BALANCE_AFTER)
        load = np.where(balances[:, None], shares, load)
        pressure[balances, :, 0] = ahead_m[balances, None]
        # The force of the ground points from the pressure to the centre of mass, so that it does not turn the body.
        lever = (centre[:, None] - spots - pressure) / self._com_height_m
        force = -self._legs.weight_n * load[..., None] * np.concatenate([lever, np.ones((len(rows), 2, 1))], axis=2)
        return force, pressure


def _into(frames: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(n, k) vectors of the world in frames (n, k, k)."""
    return np.einsum("nji,nj->ni", frames, vectors)


def _out_of(frames: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """(n, 2) horizontal vectors of frames, in the world."""
    return np.einsum("nij,nj->ni", frames[:, :2, :2], vectors)


def _about_z(angle: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotations about the vertical."""
    cos, sin, zero, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    rows = [[cos, -sin, zero], [sin, cos, zero], [zero, zero, one]]
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def _yielding(tilt: np.ndarray, share: np.ndarray) -> np.ndarray:
    """(n, 3, 3) wanted rotations of the base in the frame of its heading: upright but for a share of its tilt."""
    pitch, roll, zero, one = share * tilt[:, 0, 2], -share * tilt[:, 1, 2], np.zeros_like(share), np.ones_like(share)
    x = np.column_stack([one, zero, -pitch])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    z = np.cross(x, np.column_stack([zero, one, roll]))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=2)
