"""GoalLine: the delay line of goals, each joint with its own delay.

A goal holds until the next one arrives. A change within a physics step counts by its share of the step, so that a
motion is smooth in the delay. Without a delay it counts from the next physics step on, as behind a command filter of
the engine. `calibrate/slots.py` and `calibrate/decoupled.py` compute the same from whole logs.
"""

import numpy as np

LONGEST_S = 1.2


class GoalLine:
    """The latest goals of `width` simulations, (width, joints) each, newest first."""

    def __init__(self, width: int, joints: int, *, rate_hz: float, substeps: int):
        self._rate_hz, self._substeps = rate_hz, substeps
        self._goals = np.zeros((int(np.ceil(LONGEST_S * rate_hz)) + 3, width, joints))

    def fill(self, ids: np.ndarray, goal: np.ndarray) -> None:
        """Begin with this goal, as if it had always been there."""
        self._goals[:, ids] = goal

    def put(self, goal: np.ndarray) -> None:
        """Take the goals of a new control period."""
        self._goals[1:] = self._goals[:-1]
        self._goals[0] = goal

    def at(self, substep: int, delay_s: np.ndarray) -> np.ndarray:
        """The goals that have arrived by a physics step of the current control period."""
        place = substep / self._substeps - np.minimum(delay_s, LONGEST_S) * self._rate_hz
        whole = np.floor(place)
        share = np.clip((place - whole) * self._substeps, 0, 1)
        index = (-whole).astype(int)[None]
        new = np.take_along_axis(self._goals, index, axis=0)[0]
        old = np.take_along_axis(self._goals, index + 1, axis=0)[0]
        return old + share * (new - old)
