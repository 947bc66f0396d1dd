"""MobileTwin: what the twins of robots with legs and of robots on wheels share."""

from dataclasses import dataclass
from typing import Any, Protocol

import mujoco
import numpy as np

from twinloop.twin.control_rate import ControlRate


class MobileRobot(Protocol):
    """The names in a model that every mobile robot has."""

    @property
    def joints(self) -> tuple[str, ...]: ...

    @property
    def base(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class MobileTwin(ControlRate):
    """A robot that moves about, compiled once and simulated many times.

    Rows of the parameter table that act on driven joints read the indices that begin with `arm_`, as for arms.

    Attributes:
        arm_joints, arm_qpos, arm_dofs, arm_controls: driven joints of the model, their positions, velocities, controls.
        base_body: the body with the free joint, whose position and velocity are the first of the state.
        longest_delay_s: length of the delay lines of commands.
        longest_s: time limit of an episode.
    """

    robot: Any
    arm_joints: np.ndarray
    arm_qpos: np.ndarray
    arm_dofs: np.ndarray
    arm_controls: np.ndarray
    base_body: int
    ground_geom: int
    longest_delay_s: float = 0.0
    longest_s: float

    @property
    def joints(self) -> int:
        return len(self.arm_joints)

    @property
    def longest_ticks(self) -> int:
        return round(self.longest_s * self.control_hz)


def indices_of(model: mujoco.MjModel, robot: MobileRobot, *, ground: str) -> dict[str, Any]:
    """The fields of a MobileTwin that are indices of the model."""
    joints = np.array([model.joint(name).id for name in robot.joints])
    return {
        "arm_joints": joints,
        "arm_qpos": model.jnt_qposadr[joints],
        "arm_dofs": model.jnt_dofadr[joints],
        "arm_controls": np.array([model.actuator(name).id for name in robot.joints]),
        "base_body": model.body(robot.base).id,
        "ground_geom": model.geom(ground).id,
    }


def add_delay_lines(spec: mujoco.MjSpec, longest_delay_s: float, timestep_s: float) -> None:
    """Let every actuator remember its commands for this long."""
    if longest_delay_s > 0:
        for actuator in spec.actuators:
            actuator.nsample = int(np.ceil(longest_delay_s / timestep_s)) + 1
