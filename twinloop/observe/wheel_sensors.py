"""WheelSensors: current sensor values of robots on wheels: wheel encoders, odometry and a 2-D lidar, with their errors.

Odometry adds up the measured turns of the wheels with their nominal radius, in the direction that a gyro gives, as the
driver of the Kobuki does. So it drifts when wheels slip or are not as large as the robot assumes, and with the gyro.
"""

import numpy as np

from twinloop.observe.base_readings import SlotErrors
from twinloop.randomize.draw import Draws
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.floor_plan import PERSON_RADIUS_M, cast_rays
from twinloop.twin.wheels.wheel_twin import WheelTwin


class WheelSensors:
    """Live sensor values of all slots of a cell.

    Attributes:
        odometry: (width, 3) x, y and yaw since the episode began, as the robot reckons them.
        start: (width, 3) true pose when the episode began, which the robot knows.
    """

    def __init__(self, twin: WheelTwin, *, width: int, seed: int):
        self.twin, self.width = twin, width
        rays, wheels = twin.rays, twin.joints

        def noise_of(rng: np.random.Generator, part: np.ndarray) -> dict[str, np.ndarray]:
            return {"lidar": part, "observed": rng.random(len(part))}

        self._errors = SlotErrors(
            twin, width=width, seed=seed, robots="wheels", columns=rays, noise_of=noise_of,
            channels={"wheel": wheels, "heading": 1, "lidar": rays, "lidar_yaw": 1},
        )  # fmt: skip
        self._slots, self._tick = np.arange(width), np.zeros(width, int)
        self._angle, self._yaw, self._turned = np.zeros((width, wheels)), np.zeros(width), np.zeros(width)
        self.odometry, self.start = np.zeros((width, 3)), np.zeros((width, 3))

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray, cell: WheelCell) -> None:
        """Draw the errors of the episodes that begin. `cell` has admitted them."""
        self._tick[ids] = 0
        self._errors.begin(ids, draws, rows)
        self._angle[ids] = cell.arm_position_rad[ids]
        self._yaw[ids], self._turned[ids] = cell.yaw_rad[ids], 0
        self.odometry[ids] = 0
        self.start[ids] = np.column_stack([cell.position_m[ids], cell.yaw_rad[ids]])

    def look(self, cell: WheelCell, ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Channel -> (slots, elements) of this control period. Call once in each period of a slot.

        Channels are wheels (rad), speed (m/s and rad/s), odometry, goal (distance, cosine and sine of its bearing as
        the robot reckons it) and lidar (m).
        """
        slots = self._slots if ids is None else ids
        tick, errors, wheels = np.minimum(self._tick[slots], self.twin.longest_ticks), self._errors, self.twin.joints
        yaw = cell.yaw_rad[slots]
        mounted = errors.offset("lidar_yaw", slots, tick)[:, 0] if errors.active else np.zeros(len(slots))
        angles = (yaw + mounted)[:, None] + self.twin.ray_angles_rad
        ranges = cast_rays(
            cell.position_m[slots], angles, cell.boxes[slots], cell.people.position_m[slots], PERSON_RADIUS_M,
            self.twin.range_m,
        )  # fmt: skip
        change = yaw - self._yaw[slots]
        self._turned[slots] += np.arctan2(np.sin(change), np.cos(change))
        self._yaw[slots] = yaw
        true = np.concatenate(
            [cell.arm_position_rad[slots], self._turned[slots, None], ranges], axis=1, dtype=np.float32
        )
        true = errors.delayed(true, slots, tick)
        angle, turned, ranges = true[:, :wheels].astype(float), true[:, wheels : wheels + 1], true[:, wheels + 1 :]
        self._tick[slots] += 1
        turns = errors.read("wheel", angle - self._angle[slots], slots, tick)
        self._angle[slots] = angle
        speed = self._reckon(turns, errors.read("heading", turned.astype(float), slots, tick)[:, 0], slots)
        return {
            "wheels": angle, "speed": speed, "odometry": self.odometry[slots], "goal": self._goal(cell, slots),
            "lidar": self._echoes(ranges, slots, tick),
        }  # fmt: skip

    def _reckon(self, turns: np.ndarray, heading: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Add the turns of the wheels to the odometry. Return (slots, 2) speed and turn rate."""
        way = turns.mean(axis=1) * self.twin.robot.wheel_radius_m
        turn = heading - self.odometry[slots, 2]
        middle = self.odometry[slots, 2] + turn / 2
        self.odometry[slots] += np.column_stack([way * np.cos(middle), way * np.sin(middle), turn])
        return np.column_stack([way, turn]) / self.twin.control_period_s

    def _goal(self, cell: WheelCell, slots: np.ndarray) -> np.ndarray:
        start, goal = self.start[slots], cell.goal_m[slots] - self.start[slots, :2]
        cos, sin = np.cos(start[:, 2]), np.sin(start[:, 2])
        x = cos * goal[:, 0] + sin * goal[:, 1] - self.odometry[slots, 0]
        y = -sin * goal[:, 0] + cos * goal[:, 1] - self.odometry[slots, 1]
        bearing = np.arctan2(y, x) - self.odometry[slots, 2]
        return np.column_stack([np.hypot(x, y), np.cos(bearing), np.sin(bearing)])

    def _echoes(self, ranges: np.ndarray, slots: np.ndarray, tick: np.ndarray) -> np.ndarray:
        """Measured distances. A ray without an echo reads the longest one."""
        longest = np.float32(self.twin.range_m)
        lost = ranges >= longest
        if self._errors.active:
            ranges = self._errors.read("lidar", ranges, slots, tick)
            dead = self._errors.dead("lidar", slots, tick)
            lost = lost if dead is None else lost | dead
        return np.where(lost, longest, np.clip(ranges, self.twin.robot.lidar.least_m, longest)).astype(np.float32)
