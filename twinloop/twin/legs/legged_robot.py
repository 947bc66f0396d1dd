"""LeggedRobot: a model with a free base and driven legs, and the names in it that walking needs."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np


@dataclass(frozen=True)
class Foot:
    """A foot of a robot.

    Attributes:
        name: also the name of its site.
        geoms: the spheres that touch the ground.
        phase: when it swings, as a share of the step period, in the gait that the robot is trained for.
    """

    name: str
    geoms: tuple[str, ...]
    phase: float


@dataclass(frozen=True)
class LeggedRobot:
    """A robot with legs, position-controlled. Limits are the manufacturer's, one per joint.

    Attributes:
        build: returns a new spec whose first body is the base. All names below are names in that spec.
        base: the body with the free joint. The site `imu` is on it.
        joints: driven joints, one leg after the other. Actuators have the names of their joints.
        home_rad: nominal pose. Actions are offsets to it.
        home_height_m: height of the base above the ground in the nominal pose, feet on the ground.
        fallen_height_m: the robot has fallen when its base is lower than this above the ground.
        shins: geoms between the feet and the base that touch obstacles.
        mirror: place of each joint's counterpart on the other side.
        mirror_sign: -1 for joints that turn the other way in the mirror image.
        action_scale_rad: offset to the nominal pose of an action of 1.
        step_period_s: period of the gait.
        swing_height_m: how high a foot is lifted.
        payload_kg: the manufacturer's payload; None where there is no figure.
        source: where the figures are from.
    """

    name: str
    build: Callable[[], mujoco.MjSpec]
    base: str
    joints: tuple[str, ...]
    home_rad: tuple[float, ...]
    velocity_limits_rad_s: tuple[float, ...]
    torque_limits_nm: tuple[float, ...]
    home_height_m: float
    fallen_height_m: float
    feet: tuple[Foot, ...]
    shins: tuple[str, ...]
    mirror: tuple[int, ...]
    mirror_sign: tuple[float, ...]
    action_scale_rad: float
    step_period_s: float
    swing_height_m: float
    payload_kg: float | None = None
    source: str = ""
    model_digest: str = ""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Elements of joint states and actions."""
        return self.joints

    def mirrored(self, values: np.ndarray) -> np.ndarray:
        """(..., joints) the joint values of the mirror image."""
        return values[..., list(self.mirror)] * np.array(self.mirror_sign)
