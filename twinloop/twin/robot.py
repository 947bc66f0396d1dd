"""Robot: a model to attach to a scene, and the few names the rest of the pipeline needs of it."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np


@dataclass(frozen=True)
class Gripper:
    """A gripper that one number opens and closes.

    Its `opening` is the sum of its joint positions (for two fingers that slide apart: the gap in metres).
    `open` and `closed` are openings; the actuator's control at each is `open_control` and `closed_control`.
    """

    joints: tuple[str, ...]
    actuator: str
    finger_bodies: tuple[str, str]
    open: float
    closed: float
    open_control: float
    closed_control: float
    unit: str = "m"

    def control(self, opening: np.ndarray) -> np.ndarray:
        """The actuator's control for an opening."""
        slope = (self.open_control - self.closed_control) / (self.open - self.closed)
        return self.closed_control + (opening - self.closed) * slope


@dataclass(frozen=True)
class Robot:
    """An arm with a gripper, position-controlled.

    `build` returns a fresh spec whose root is the robot's mount. Joint, actuator, site and body names are
    those inside that spec. `tool_site` is the frame between the finger tips: z points out of the hand, the
    fingers move along y. `mount_m` is where it stands: the things on the table lie about 0.5 m from the origin, so a
    short arm stands nearer to them, on a plinth. Limits are the maker's, one per arm joint; no accelerations where
    the maker names none.

    Example:
        >>> from dataclasses import replace
        >>> robot = tl.load_config("cell.yaml").scene.robot
        >>> shifted = replace(robot, name="shifted_panda", mount_m=(0.0, 0.1, 0.0))
        >>> isinstance(shifted, tl.Robot), len(shifted.arm_joints)
        (True, 7)
    """

    name: str
    build: Callable[[], mujoco.MjSpec]
    arm_joints: tuple[str, ...]
    arm_actuators: tuple[str, ...]
    gripper: Gripper
    tool_site: str
    home_rad: tuple[float, ...]
    velocity_limits_rad_s: tuple[float, ...]
    torque_limits_nm: tuple[float, ...]
    reach_m: float
    acceleration_limits_rad_s2: tuple[float, ...] = ()
    mount_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
