"""Workspace: keeps the tool inside a box, using the kinematics of the twin.

A command is allowed if the tool is inside the box at its end and in every period of the braking motion after it. The
braking motion of the previous command passed the same test, so braking is always allowed. At a wall of the box, the
component of the motion through the wall is removed and the tool slides along the wall. If that is not enough, the tool
slows down and stops. A robot that starts outside the box may move anywhere except further out.
"""

from collections.abc import Iterator

import mujoco
import numpy as np

from twinloop.deploy.safety.motion import MotionLimiter
from twinloop.simulate.batched import point_jacobian
from twinloop.twin.twin import Twin

SLACK_M = 1e-9
SHARES = (0.5, 0.25)
"""Shares of the motion along the wall that are tried before braking."""
DAMPING = 1e-3


class Tool:
    """Forward kinematics of the tool of one arm. Elements of a position after the arms' joints do not move it."""

    def __init__(self, twin: Twin, arm: int = 0):
        self._twin, self._data = twin, mujoco.MjData(twin.model)
        self._joints, self._index = twin.joints, twin.arms[arm]

    def place(self, position: np.ndarray) -> list[float]:
        """Return x, y, z (m) in the frame of the base. Floats are compared faster than arrays of three."""
        data, twin = self._data, self._twin
        data.qpos[twin.arm_qpos] = position[: self._joints]
        mujoco.mj_kinematics(twin.model, data)
        return data.site_xpos[self._index.tool_site].tolist()

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Return (k, 3) in the frame of the base. It loops because MuJoCo has no batched kinematics."""
        return np.array([self.place(position) for position in positions])

    def jacobian(self, position: np.ndarray) -> np.ndarray:
        """Return (3, elements) the derivative of the tool position with respect to each element."""
        tool = np.array(self.place(position))
        joints = self._index.joints
        out = np.zeros((3, len(position)))
        axes, anchors = self._data.xaxis[None, joints], self._data.xanchor[None, joints]
        out[:, self._index.columns] = point_jacobian(axes, anchors, tool[None], self._index.slides)[:3, :, 0]
        return out


class Workspace:
    def __init__(self, box_m: np.ndarray, tool: Tool):
        self._box_m = [(float(low), float(high)) for low, high in box_m]
        self._tool = tool
        self._already_m = 0.0

    def begin(self, position: np.ndarray) -> None:
        self._already_m = self._outside_m(position)

    def allowed(self, motion: MotionLimiter, velocity: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return a velocity that keeps the tool inside, and whether it is the requested one.

        The candidates are the requested velocity, milder ones along the wall, and braking.
        """
        walls = self._crossed(motion, velocity)
        if walls is None:
            return velocity, True
        stand = motion.braking(motion.velocity)
        for other in self._milder(motion, velocity, stand, walls):
            if self._crossed(motion, other) is None:
                return other, False
        return stand, False

    def admits(self, motion: MotionLimiter, velocity: np.ndarray) -> bool:
        """Whether the tool stays inside at this velocity."""
        return self._crossed(motion, velocity) is None

    def filtered(self, position: np.ndarray) -> None:
        """Record that a command was sent. A robot that started outside may not move further out again."""
        if self._already_m > 0:
            self._already_m = min(self._already_m, self._outside_m(position))

    def _outside_m(self, position: np.ndarray) -> float:
        tool = self._tool.place(position)
        return max(0.0, *(max(low - at, at - high) for at, (low, high) in zip(tool, self._box_m, strict=True)))

    def _crossed(self, motion: MotionLimiter, velocity: np.ndarray) -> np.ndarray | None:
        """Return (3,) the axes on which the braking motion leaves the box, or None if it stays inside.

        The end of the motion is tested first because it is the most likely to be outside.
        """
        most_m = self._already_m + SLACK_M
        for position in motion.stop_path(velocity)[::-1]:
            (x, y, z), ((x0, x1), (y0, y1), (z0, z1)) = self._tool.place(position), self._box_m
            walls = (
                x < x0 - most_m or x > x1 + most_m, y < y0 - most_m or y > y1 + most_m,
                z < z0 - most_m or z > z1 + most_m,
            )  # fmt: skip
            if any(walls):
                return np.array(walls)
        return None

    def _milder(
        self, motion: MotionLimiter, velocity: np.ndarray, stand: np.ndarray, walls: np.ndarray
    ) -> Iterator[np.ndarray]:
        along = motion.possible(self._along(motion, velocity, walls))
        yield along
        for share in SHARES:
            yield stand + share * (along - stand)

    def _along(self, motion: MotionLimiter, velocity: np.ndarray, walls: np.ndarray) -> np.ndarray:
        """Return the velocity without its component through these walls (damped least squares)."""
        rows = self._tool.jacobian(motion.position)[walls]
        square = rows @ rows.T + DAMPING**2 * np.eye(len(rows))
        return velocity - rows.T @ np.linalg.solve(square, rows @ velocity)
