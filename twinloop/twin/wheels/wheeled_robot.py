"""WheeledRobot: a round base with two driven wheels and a lidar, and the names in its model that driving needs."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco


@dataclass(frozen=True)
class Lidar:
    """A 2-D lidar in the middle of a base, which looks all around.

    Attributes:
        least_m, most_m: measured distances. A ray without an echo reads `most_m`.
        height_m: of its plane above the ground.
        source: where the figures are from.
    """

    least_m: float
    most_m: float
    height_m: float
    source: str


@dataclass(frozen=True)
class WheeledRobot:
    """A robot with a differential drive, velocity-controlled.

    Attributes:
        build: returns a new spec whose first body is the base. All names below are names in that spec.
        base: the body with the free joint, in the middle of the axle.
        joints: hinges of the left and the right wheel. Actuators have the names of their joints.
        wheels: bodies and geoms of the left and the right wheel.
        radius_m: of the base, which is round.
        wheel_radius_m, track_m: nominal; the robot's odometry uses them.
        top_speed_m_s, top_turn_rad_s: the manufacturer's limits.
        acceleration_m_s2, braking_m_s2, turn_acceleration_rad_s2: limits of the base's speed controller.
        payload_kg: the manufacturer's payload.
        source: where the figures are from.
    """

    name: str
    build: Callable[[], mujoco.MjSpec]
    base: str
    joints: tuple[str, ...]
    wheels: tuple[str, ...]
    radius_m: float
    wheel_radius_m: float
    track_m: float
    top_speed_m_s: float
    top_turn_rad_s: float
    acceleration_m_s2: float
    braking_m_s2: float
    turn_acceleration_rad_s2: float
    lidar: Lidar
    payload_kg: float | None = None
    source: str = ""

    @property
    def state_names(self) -> tuple[str, ...]:
        """Elements of joint states."""
        return self.joints
