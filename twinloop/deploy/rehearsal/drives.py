"""CellDrives: the path of commands to the motors of a rehearsal cell.

A command may be lost. It arrives after a delay with jitter, never before an earlier command. It is smoothed by the
robot's own filter, gets noise, and passes gears with backlash: while a joint's error is within the backlash, the motor
turns and the link does not follow. The twin's `simulate/drive.py` changes the command instead: both model the same
backlash, but compute it differently.
"""

from collections import deque
from collections.abc import Mapping

import numpy as np


class CellDrives:
    """The drives during one episode.

    Args:
        home: the first command: joints of all arms, then the openings of the grippers.
        joints: number of joints.
    """

    def __init__(
        self,
        values: Mapping[str, float],
        *,
        home: np.ndarray,
        joints: int,
        smoothing_s: np.ndarray,
        step_s: float,
        rng: np.random.Generator,
    ):
        self._values, self._rng, self._joints = values, rng, slice(joints)
        self._keep = np.exp(-step_s / np.maximum(smoothing_s, 1e-9))
        self._due: deque[tuple[float, np.ndarray]] = deque()
        self._received, self._smoothed = home.copy(), home.copy()
        self._noise = np.zeros(len(home))
        self._first = True

    def receive(self, command: np.ndarray, now_s: float) -> None:
        values = self._values
        chance, white = self._rng.random(), self._rng.standard_normal(1 + len(command))
        self._noise = 1e-3 * values["control_noise_mrad"] * white[1:]
        self._noise[self._joints.stop :] = 0
        # The first command is never lost, because there is no earlier command to hold.
        if self._first or chance >= values["command_loss_share"]:
            delay_ms = max(0.0, values["action_delay_ms"] + values["action_jitter_ms"] * float(white[0]))
            arrival_s = now_s + delay_ms / 1000
            if self._due:
                arrival_s = max(arrival_s, self._due[-1][0])
            self._due.append((arrival_s, command.copy()))
        self._first = False

    def halt(self, position: np.ndarray) -> None:
        """Stop at `position` at once. A stop has no delay because the robot's own controller executes it."""
        self._due.clear()
        self._received[self._joints] = self._smoothed[self._joints] = position[self._joints]

    def setpoint(self, now_s: float, position: np.ndarray) -> np.ndarray:
        """Return the target of the servos in this physics step, with the joints at `position`."""
        while self._due and self._due[0][0] <= now_s + 1e-9:
            self._received = self._due.popleft()[1]
        self._smoothed = self._received + self._keep * (self._smoothed - self._received)
        error = self._smoothed + self._noise - position
        half = 0.5e-3 * self._values["backlash_mrad"]
        error[self._joints] -= np.clip(error[self._joints], -half, half)
        return position + error
