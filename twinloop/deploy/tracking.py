"""Tracking: where an object is, from a tracker that is noisy and late and that people hide it from.

An object that nobody holds lies still until it is moved: readings are averaged for as long as they agree, and begun
anew where the last few say something else. One in the grip moves with the tool: off it by what was seen while both
stood still, since a tracker and encoders that are late by different times agree on nothing else.
"""

import numpy as np

STEADY_S = 0.2
"""Readings of so long tell whether an object has been moved."""
LONGEST_S = 1.2
"""Readings of so long are averaged, while they agree."""
MOVED_M = 0.012
MOVED_SHARE = 4.0
"""An object was moved that is seen elsewhere by more than MOVED_M and by so many deviations of what is seen of it."""


class Tracking:
    def __init__(self, *, period_s: float):
        self._quick, self._least = (1 - float(np.exp(-period_s / seconds)) for seconds in (STEADY_S, LONGEST_S))
        self.begin()

    def begin(self) -> None:
        """Forget what was seen."""
        self._pose: np.ndarray | None = None
        self._in_hand_m: np.ndarray | None = None

    def lying(self, pose: np.ndarray) -> np.ndarray:
        """(7,) of an object that nobody holds. pose: as the tracker says, x, y, z, then a quaternion."""
        self._in_hand_m = None
        if self._pose is None:
            self._start(pose)
        else:
            self._seen += 1
            # A quaternion and its negative are the same turn.
            same = pose * np.append(np.ones(3), np.full(4, np.sign(pose[3:] @ self._pose[3:]) or 1.0))
            self._scatter_m2 += self._least * (np.square(same[:3] - self._late).sum() - self._scatter_m2)
            self._late = self._late + self._quick * (same[:3] - self._late)
            self._pose = self._pose + max(1 / self._seen, self._least) * (same - self._pose)
            elsewhere_m = float(np.linalg.norm(self._late - self._pose[:3]))
            # The mean of the last few has about a third of the deviation of one.
            if elsewhere_m > max(MOVED_M, MOVED_SHARE * np.sqrt(self._scatter_m2) / 3):
                turn = self._pose[3:]
                self._start(np.append(self._late, turn))
        assert self._pose is not None
        return self._pose

    def _start(self, pose: np.ndarray) -> None:
        self._pose, self._late, self._seen, self._scatter_m2 = pose, pose[:3], 1, 0.0

    def carried(self, pose: np.ndarray, *, tool_m: np.ndarray, measured_m: np.ndarray, still: bool) -> np.ndarray:
        """(7,) of an object in the grip of a tool that will be at tool_m and was measured at measured_m."""
        if self._in_hand_m is None:
            seen_m = pose[:3] if self._pose is None else self._pose[:3]
            self._in_hand_m = seen_m - measured_m
        elif still:
            self._in_hand_m = self._in_hand_m + self._quick * (pose[:3] - measured_m - self._in_hand_m)
        self._pose = None
        return np.append(tool_m + self._in_hand_m, pose[3:])
