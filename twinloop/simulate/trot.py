"""TrotExpert: a scripted trot for quadrupeds. It demonstrates walking, and policies can be cloned from it.

Each foot follows a path in the frame of the trunk: back with the commanded velocity while it stands, and forward in an
arc while it swings. A swinging foot is put down further out in the direction in which the trunk is too fast (Raibert,
"Legged Robots That Balance", 1986). Inverse kinematics of a leg with three joints gives the joint targets.

On rough ground it knows the heights: the trunk follows the slope of the ground below it, feet stand at the height of
the ground, and a swinging foot is lifted over the highest ground around it.
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
CLEARANCE_M = 0.12
"""A swinging foot is lifted over ground that is this near."""
MAX_SLOPE = 0.4
LEVEL = 0.3
"""Share of the trunk's tilt that the legs take out within a step."""

AROUND = np.array([[x, y] for x in (-1, 0, 1) for y in (-1, 0, 1)], float)
FOOTPRINT = np.array([[x, y] for x in np.linspace(-0.4, 0.4, 7) for y in np.linspace(-0.25, 0.25, 5)])
"""Places below the trunk that its slope is fitted to."""

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
        gravity = cell.gravity[:, None, :2]
        if self.twin.terrain.heights_m is not None:
            slope, heights = self._ground(cell, feet, np.where(stands, 0, np.sin(np.pi * share[..., 0])))
            feet[..., 2] += heights
            # Feet stay below their hips when the trunk is parallel to a slope.
            feet[..., :2] += slope[:, None] * self._nominal[:, 2, None]
            gravity = gravity + slope[:, None]
        # Legs on the low side become longer, so that the trunk turns back to level.
        tilt = gravity[..., 0] * feet[..., 0] + gravity[..., 1] * feet[..., 1]
        feet[..., 2] -= LEVEL * np.where(stands, tilt, 0)
        return self._angles(feet).reshape(cell.width, 12)

    def _ground(self, cell: WalkCell, feet: np.ndarray, swung: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ground below a robot.

        Args:
            feet: (n, 4, 3) feet in the frame of the trunk.
            swung: (n, 4) 0 for a foot on the ground, 1 in the middle of a swing.

        Returns:
            (n, 2) slope forward and to the left, and (n, 4) heights of the ground at the feet above the plane with this
            slope. That of a swinging foot is the height that it must clear.
        """
        terrain, heading = self.twin.terrain, cell.base_axes[:, :2, 0]
        heading = heading / np.maximum(np.hypot(heading[:, 0], heading[:, 1]), 1e-6)[:, None]
        left = np.stack([-heading[:, 1], heading[:, 0]], axis=1)

        def heights_at(places: np.ndarray) -> np.ndarray:
            world = places[..., :1] * heading[:, None] + places[..., 1:] * left[:, None]
            return terrain.height_at(cell.base_position[:, None, :2] + world)

        ground = heights_at(np.broadcast_to(FOOTPRINT, (cell.width, *FOOTPRINT.shape)))
        mean = ground.mean(axis=1)
        slope = (ground - mean[:, None]) @ FOOTPRINT / np.square(FOOTPRINT).sum(axis=0)
        slope = np.clip(slope, -MAX_SLOPE, MAX_SLOPE)
        below = heights_at(feet[..., :2])
        around = feet[..., None, :2] + CLEARANCE_M * AROUND
        highest = heights_at(around.reshape(cell.width, -1, 2)).reshape(*below.shape, -1).max(axis=-1)
        plane = mean[:, None] + (feet[..., :2] * slope[:, None]).sum(axis=-1)
        return slope, below + swung * (highest - below) - plane
