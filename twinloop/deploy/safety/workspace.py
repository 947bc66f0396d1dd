"""Workspace: the box in which the tool may be, by the kinematics of the twin.

A command is let through if the tool is inside at its end and at every period of the way to a stand after it. The way to
a stand from the command before was let through by the same rule, so there is always one that is: to brake. Where the
box ends, the part of a motion that leads out is taken off, and the tool slides along; where that does not help, it
slows down and stands. A robot that begins outside may move anywhere but further out.
"""

from collections.abc import Iterator

import mujoco
import numpy as np

from twinloop.deploy.safety.motion import MotionLimiter
from twinloop.simulate.cell import cross
from twinloop.twin.twin import Twin

SLACK_M = 1e-9
SHARES = (0.5, 0.25)
"""Of a motion that is too much, before none of it is tried."""
DAMPING = 1e-3


class Tool:
    """Where the tool of a robot is, from the positions of its joints; elements after the arm's do not move it."""

    def __init__(self, twin: Twin):
        self._twin, self._data = twin, mujoco.MjData(twin.model)
        self._arm = len(twin.arm_joints)

    def place(self, position: np.ndarray) -> list[float]:
        """x, y, z in the frame of the base. As plain numbers, which are compared faster than arrays of three."""
        data, twin = self._data, self._twin
        data.qpos[twin.arm_qpos] = position[: self._arm]
        mujoco.mj_kinematics(twin.model, data)
        return data.site_xpos[twin.tool_site].tolist()

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(k, 3) in the frame of the base. One by one: the engine has no batch of kinematics alone."""
        return np.array([self.place(position) for position in positions])

    def jacobian(self, position: np.ndarray) -> np.ndarray:
        """(3, elements) how the tool moves with each of them."""
        here = np.array(self.place(position))
        joints = self._twin.arm_joints
        out = np.zeros((3, len(position)))
        out[:, : self._arm] = cross(self._data.xaxis[joints], here - self._data.xanchor[joints]).T
        return out


class Workspace:
    def __init__(self, box_m: np.ndarray, tool: Tool):
        self._box_m = [(float(low), float(high)) for low, high in box_m]
        self._tool = tool
        self._already_m = 0.0

    def begin(self, position: np.ndarray) -> None:
        self._already_m = self._outside_m(position)

    def allowed(self, motion: MotionLimiter, velocity: np.ndarray) -> tuple[np.ndarray, bool]:
        """A velocity that keeps the tool inside, as much like the one asked for as was found; is it that one?"""
        walls = self._crossed(motion, velocity)
        if walls is None:
            return velocity, True
        stand = motion.braking(motion.velocity)
        for other in self._milder(motion, velocity, stand, walls):
            if self._crossed(motion, other) is None:
                return other, False
        return stand, False

    def filtered(self, position: np.ndarray) -> None:
        """A command was sent. Who began outside has come closer, and must not go back."""
        if self._already_m > 0:
            self._already_m = min(self._already_m, self._outside_m(position))

    def _outside_m(self, position: np.ndarray) -> float:
        here = self._tool.place(position)
        return max(0.0, *(max(low - at, at - high) for at, (low, high) in zip(here, self._box_m, strict=True)))

    def _crossed(self, motion: MotionLimiter, velocity: np.ndarray) -> np.ndarray | None:
        """(3,) which walls a way to a stand crosses, None for one that stays inside. The end of it is looked at first:
        where a way leads out, it does so there."""
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
        """Without what leads out through these walls."""
        rows = self._tool.jacobian(motion.position)[walls]
        square = rows @ rows.T + DAMPING**2 * np.eye(len(rows))
        return velocity - rows.T @ np.linalg.solve(square, rows @ velocity)
