"""PressLimit: how hard an arm presses along its approach, from the torques of its joints.

The commands of the scripted expert go on while the tool is blocked, so the servos press harder and harder. A phase with
`press_n` gives way instead. The force f on the tool follows from the change of the joint torques since the tool set
out, J^T f = τ - τ0, in the sense of least squares. The torques τ0 carry the weight of the arm and of what it holds, and
overcome the friction of the joints in the direction of the motion.
"""

import numpy as np

from twinloop.simulate.batched import gram, solve_positive, weighted_sum
from twinloop.simulate.view import View
from twinloop.twin.phase import Phase
from twinloop.twin.rotation import dot

DAMPING = 0.02
TOUCHES = 0.25
"""Share of the largest force from which on the tool counts as in contact: below it, it moves at its own speed."""
SETS_OUT_S = 0.24
"""Time after which the tool moves at its speed. A phase should not touch anything before that."""
GIVES_M_S_N = 0.0005
"""Speed of the tool for each newton that is missing to the largest force, or that exceeds it."""


class PressLimit:
    """The largest forces of an arm's phases.

    Attributes:
        needed: whether any phase has one.

    Args:
        arm_joints: (joints,) 0 for the joints of a mobile base, whose forces hold the platform, and 1 for others.
    """

    def __init__(self, phases: tuple[Phase, ...], *, arm_joints: np.ndarray, width: int, period_s: float):
        most_n = np.array([phase.press_n for phase in phases])
        self.needed = bool(most_n.any())
        self._most_n = np.where(most_n > 0, most_n, np.inf)
        self._rest_nm = np.zeros((width, len(arm_joints)))
        self._arm_joints = arm_joints
        self._sets_out = round(SETS_OUT_S / period_s)

    def applied(self, velocity: np.ndarray, view: View, phase: np.ndarray, ticks: np.ndarray) -> np.ndarray:
        """(width, 3) the velocity at which the tool does not press harder than its phase allows.

        Args:
            ticks: (width,) control periods since the phase began.
        """
        starting = ticks <= self._sets_out
        self._rest_nm[starting] = view.arm_effort_nm[starting]
        most_n = self._most_n[phase]
        rows = np.flatnonzero(np.isfinite(most_n))
        if not len(rows):
            return velocity
        along, most_n = view.tool_axes[rows, :, 2], most_n[rows]
        torque_nm = self._arm_joints * (view.arm_effort_nm[rows] - self._rest_nm[rows])
        jacobian = view.jacobian()[:, :, rows] * self._arm_joints[:, None]
        press_n = dot(tool_force_n(jacobian, torque_nm), along)
        ahead = dot(velocity[rows], along)
        allowed = np.where(press_n < TOUCHES * most_n, np.inf, GIVES_M_S_N * (most_n - press_n))
        out = velocity.copy()
        out[rows] += (np.minimum(ahead, allowed) - ahead)[:, None] * along
        return out


def tool_force_n(jacobian: np.ndarray, torque_nm: np.ndarray) -> np.ndarray:
    """(n, 3) force with which a tool presses on its surroundings, if its joints have these additional torques."""
    products = gram(jacobian)
    diagonal = np.arange(6)
    products[diagonal, diagonal] += DAMPING**2
    wrench = solve_positive(products, weighted_sum(jacobian, np.ascontiguousarray(torque_nm.T)))
    return wrench[:3].T
