"""TrotExpert: a scripted trot for quadrupeds. It demonstrates walking, and policies can be cloned from it.

Each foot follows a path in the frame of the trunk: back with the commanded velocity while it stands, and forward in an
arc while it swings. A swinging foot is put down further out in the direction in which the trunk is too fast (Raibert,
"Legged Robots That Balance", 1986). Inverse kinematics of a leg with three joints gives the joint targets.
"""

import numpy as np

from twinloop.errors import UsageError
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.walk_twin import WalkTwin

STANCE_SHARE = 0.55
"""Share of the step period in which a foot stands."""
BALANCE_S = 0.06
"""Distance that a foot is put out per speed error."""
MAX_STEP_M = 0.16
INTEGRAL_PER_S, MAX_CORRECTION = 0.5, np.array([0.5, 0.4, 0.7])
"""Gain of the integral of velocity errors, and its bounds in m/s and rad/s."""
LEVEL = 0.3
"""Share of the trunk's tilt that the legs take out within a step."""

Part = slice | np.ndarray
"""All slots, or some."""


class TrotExpert:
    """Joint targets of a trot for all slots of a cell. It knows the true velocity of the trunk.

    Raises:
        UsageError: the robot is not a quadruped whose legs have three joints.
    """

    def __init__(self, twin: WalkTwin, *, width: int):
        robot, model = twin.robot, twin.model
        if len(robot.feet) != 4 or twin.joints != 12:
            raise UsageError(f"the scripted trot is for quadrupeds with 3 joints a leg; {robot.name} is none")
        self.twin = twin
        bodies = model.jnt_bodyid[twin.arm_joints].reshape(4, 3)
        self._hips = model.body_pos[bodies[:, 0]]
        self._side = model.body_pos[bodies[:, 1], 1]
        self._thigh = -model.body_pos[bodies[:, 2], 2]
        self._calf = -model.site_pos[twin.foot_sites, 2]
        self._nominal = self._hips + self._forward_of(np.array(robot.home_rad).reshape(4, 3))
        self._landing, self._correction = np.zeros((width, 4, 2)), np.zeros((width, 3))

    def _forward_of(self, angles: np.ndarray) -> np.ndarray:
        """(4, 3) feet relative to their hips for (4, 3) joint angles."""
        hip, thigh, calf = angles.T
        x = -self._thigh * np.sin(thigh) - self._calf * np.sin(thigh + calf)
        down = -self._thigh * np.cos(thigh) - self._calf * np.cos(thigh + calf)
        return np.column_stack(
            [x, self._side * np.cos(hip) - down * np.sin(hip), self._side * np.sin(hip) + down * np.cos(hip)]
        )

    def _angles(self, feet: np.ndarray) -> np.ndarray:
        """(n, 4, 3) joint angles for (n, 4, 3) feet in the frame of the trunk."""
        x, y, z = np.moveaxis(feet - self._hips, -1, 0)
        down = -np.sqrt(np.maximum(y**2 + z**2 - self._side**2, 1e-4))
        hip = np.arctan2(z, y) - np.arctan2(down, self._side)
        hip = (hip + np.pi) % (2 * np.pi) - np.pi
        reach = np.minimum(np.hypot(x, down), 0.99 * (self._thigh + self._calf))
        cosine = (reach**2 - self._thigh**2 - self._calf**2) / (2 * self._thigh * self._calf)
        calf = -np.arccos(np.clip(cosine, -1, 1))
        bend = np.arctan2(self._calf * np.sin(calf), self._thigh + self._calf * np.cos(calf))
        return np.stack([hip, np.arctan2(-x, -down) - bend, calf], axis=-1)

    def begin(self, ids: np.ndarray) -> None:
        """New episodes begin in slots `ids`."""
        self._landing[ids], self._correction[ids] = 0, 0

    def _corrected(self, cell: WalkCell, velocity: np.ndarray, moving: np.ndarray, part: Part) -> np.ndarray:
        """The command plus the integral of the velocity errors, because feet slip and motors give."""
        true = np.column_stack([cell.base_velocity_m_s[:, :2], cell.turn_rad_s[:, 2]])
        step = INTEGRAL_PER_S * self.twin.control_period_s * (velocity - true)
        correction = np.clip(self._correction + step, -MAX_CORRECTION, MAX_CORRECTION) * moving[:, None]
        self._correction[part] = correction[part]
        return velocity + self._correction

    def targets(
        self, cell: WalkCell, velocity: np.ndarray, phase: np.ndarray, moving: np.ndarray, ids: np.ndarray | None = None
    ) -> np.ndarray:
        """(width, 12) joint targets. Call once in each control period of a slot.

        Args:
            velocity: (width, 3) command: forward, left, turn.
            phase: (width, 4) place of each foot in its step period, from 0 to 1.
            moving: (width,) False for robots that stand still.
            ids: slots that are in a new control period; None for all.
        """
        part: Part = slice(None) if ids is None else ids
        asked, velocity = velocity, self._corrected(cell, velocity, moving, part)
        stance_s = STANCE_SHARE * self.twin.robot.step_period_s
        turn = velocity[:, 2, None, None] * np.stack([-self._nominal[:, 1], self._nominal[:, 0]], axis=-1)
        wanted = velocity[:, None, :2] + turn
        error = (cell.base_velocity_m_s[:, :2] - asked[:, :2])[:, None]
        landing = np.clip(wanted * stance_s / 2 + BALANCE_S * error, -MAX_STEP_M, MAX_STEP_M)
        stands = (phase < STANCE_SHARE) | ~moving[:, None]
        share = np.where(stands, phase / STANCE_SHARE, (phase - STANCE_SHARE) / (1 - STANCE_SHARE))[..., None]
        # A foot stays where it has landed, and moves back with the commanded velocity.
        landed = np.where(stands[..., None], self._landing, landing) * moving[:, None, None]
        self._landing[part] = landed[part]
        standing = self._landing - wanted * stance_s * share
        swinging = -landing + 2 * landing * (1 - np.cos(np.pi * share)) / 2
        feet = np.repeat(self._nominal[None], cell.width, axis=0)
        feet[..., :2] += np.where(moving[:, None, None], np.where(stands[..., None], standing, swinging), 0)
        lift = self.twin.robot.swing_height_m * np.sin(np.pi * share[..., 0])
        feet[..., 2] += np.where(stands, 0, lift)
        # Legs on the low side become longer, so that the trunk turns back to level.
        tilt = cell.gravity[:, None, 0] * feet[..., 0] + cell.gravity[:, None, 1] * feet[..., 1]
        feet[..., 2] -= LEVEL * np.where(stands, tilt, 0)
        return self._angles(feet).reshape(cell.width, 12)
