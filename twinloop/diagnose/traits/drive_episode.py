"""DriveTrace: one episode of a robot on wheels or its twin, with quantities that several traits use."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.diagnose.traits.mobile_episode import MobileEpisode
from twinloop.randomize.parameter import Morphology
from twinloop.twin.wheels.wheel_twin import WheelTwin

MAX_DELAY = 8  # largest delay of the measured speed behind the commanded one, in control periods


class WheelsModel:
    """Nominal dimensions of a robot on wheels, as its odometry uses them."""

    def __init__(self, twin: WheelTwin):
        self.period_s = twin.control_period_s
        self.wheel_radius_m, self.track_m = twin.robot.wheel_radius_m, twin.robot.track_m
        self.angles_rad, self.range_m = twin.ray_angles_rad, twin.range_m


@dataclass(frozen=True)
class DriveTrace(MobileEpisode):
    """One episode of a robot on wheels."""

    robot: WheelsModel
    morphology: Morphology = "wheels"

    def _values(self, feature: str) -> np.ndarray:
        return np.asarray(self.frames[feature], float)

    @cached_property
    def asked(self) -> np.ndarray:
        """(n, 2) commanded speed and turn rate."""
        return self.sent

    @cached_property
    def speed(self) -> np.ndarray:
        """(n, 2) measured speed and turn rate."""
        return self._values("observation.speed")

    @cached_property
    def odometry(self) -> np.ndarray:
        """(n, 3) x, y and yaw since the start, by odometry; yaw is not wrapped."""
        return self._values("observation.odometry")

    @cached_property
    def lidar_m(self) -> np.ndarray:
        return self._values("observation.lidar")

    @cached_property
    def rolled_m(self) -> np.ndarray:
        """(n - 1, 2) way of the left and the right wheel in each control period, with the nominal radius."""
        return np.diff(self._values("observation.state"), axis=0) * self.robot.wheel_radius_m

    @cached_property
    def turned_rad(self) -> np.ndarray:
        """(n - 1,) turn of the base in each control period, by the gyro of the odometry."""
        return np.diff(self.odometry[:, 2])

    @cached_property
    def pose(self) -> np.ndarray | None:
        """(n, 3) reference x, y and yaw, from motion capture or the twin; None if the log has none."""
        poses = self.frames.get("observation.environment_state")
        if poses is None or poses.shape[1] < 7:
            return None
        w, x, y, z = np.asarray(poses[:, 3:7], float).T
        yaw = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
        return np.column_stack([np.asarray(poses[:, :2], float), yaw])

    @property
    def _longest_delay(self) -> int:
        return MAX_DELAY

    def _pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self.asked[:, part], self.speed[:, part]) for part in (0, 1)]
