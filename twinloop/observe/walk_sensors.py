"""WalkSensors: current sensor values of legged robots, with the errors of their episodes.

Sensors are joint encoders and an IMU in the base.
"""

import numpy as np

from twinloop.observe.base_readings import SlotErrors
from twinloop.randomize.draw import Draws
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.walk_twin import WalkTwin


class WalkSensors:
    """Live sensor values of all slots of a cell: joint positions and velocities, turn rate and gravity of the base."""

    def __init__(self, twin: WalkTwin, *, width: int, seed: int):
        self.twin, self.width, self.seed = twin, width, seed
        joints = twin.joints

        def noise_of(rng: np.random.Generator, part: np.ndarray) -> dict[str, np.ndarray]:
            return {
                "encoder": part[:, :joints],
                "inertial": part[:, joints : joints + 6],
                "inertial_walk": part[:, joints + 6 : joints + 12],
                "encoder_bias": rng.uniform(-1, 1, joints),
                "observed": rng.random(len(part)),
            }

        self._errors = SlotErrors(
            twin, width=width, seed=seed, robots="legs", columns=joints + 12, noise_of=noise_of,
            channels={"position": joints, "velocity": joints, "inertial": 6, "attitude": 3},
        )  # fmt: skip
        self._slots, self._tick = np.arange(width), np.zeros(width, int)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        """Draw the errors of the episodes that begin."""
        self._tick[ids] = 0
        self._errors.begin(ids, draws, rows)

    def look(self, cell: WalkCell, ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Channel -> (slots, elements) of this control period. Call once in each period of a slot.

        Channels are position, velocity, gyro and gravity.
        """
        slots = self._slots if ids is None else ids
        part = slice(None) if ids is None else ids
        joints, tick, errors = self.twin.joints, np.minimum(self._tick[slots], self.twin.longest_ticks), self._errors
        true = np.concatenate(
            [cell.arm_position_rad[part], cell.arm_velocity_rad_s[part], cell.turn_rad_s[part], cell.gravity[part]],
            axis=1, dtype=np.float32,
        )  # fmt: skip
        true = errors.delayed(true, slots, tick)
        position, velocity = true[:, :joints], true[:, joints : 2 * joints]
        gyro, gravity = true[:, 2 * joints : 2 * joints + 3], true[:, 2 * joints + 3 :]
        self._tick[slots] += 1
        if errors.active:
            position = errors.rounded(errors.read("position", position, slots, tick), slots)
            velocity = errors.read("velocity", velocity, slots, tick)
            gyro = gyro + errors.offset("inertial", slots, tick)[:, 3:]
            gravity = gravity + np.cross(gravity, errors.offset("attitude", slots, tick))  # a small rotation
        return {"position": position, "velocity": velocity, "gyro": gyro, "gravity": gravity}
