"""ObjectTracker: pose of an object from tracker readings with noise, delay and occlusion.

An object that is not held lies still until it is moved. Its readings are averaged while they agree; the average starts
again if the last few readings differ from it. A held object moves with the tool. Its offset from the tool is measured
while both stand still, because tracker and encoders have different delays and do not agree during motion.
"""

import numpy as np

STEADY_S = 0.2
"""Time constant of the short average that shows whether an object has been moved."""
LONGEST_S = 1.2
"""Time over which readings are averaged while they agree."""
MOVED_M = 0.012
MOVED_SHARE = 4.0
"""An object was moved if it is seen more than MOVED_M, and more than MOVED_SHARE standard deviations, away."""


class ObjectTracker:
    """Tracks one object in each of `width` scenes.

    Attributes:
        pose: (width, 7) x, y, z, then a quaternion.
        lay_m: (width,) height of the object when it last lay on a surface. It is the expected height after it is put
            down, because the object's size is not known.
    """

    def __init__(self, *, width: int, period_s: float):
        self._quick, self._least = (1 - np.exp(-period_s / seconds) for seconds in (STEADY_S, LONGEST_S))
        self.pose = np.zeros((width, 7))
        self.lay_m = np.zeros(width)
        self._late = np.zeros((width, 3))
        self._seen = np.zeros(width, int)
        self._scatter_m2 = np.zeros(width)
        self._in_hand_m = np.zeros((width, 3))
        self._held = np.zeros(width, bool)
        self._hand = np.zeros(width, int)

    def begin(self, ids: np.ndarray) -> None:
        """Discard all readings."""
        self._seen[ids] = 0
        self._held[ids] = False

    def update_resting(self, readings: np.ndarray, where: np.ndarray) -> None:
        """Update objects that are not held.

        Args:
            readings: (width, 7) tracker readings.
            where: (width,) True for objects that are not held.
        """
        new = where & (self._seen == 0)
        self._held &= ~where
        # A quaternion and its negative are the same rotation.
        turned = (readings[:, 3:] * self.pose[:, 3:]).sum(axis=1) < 0
        same = np.concatenate([readings[:, :3], np.where(turned[:, None], -1, 1) * readings[:, 3:]], axis=1)
        self._seen += where
        share = np.maximum(1 / np.maximum(self._seen, 1), self._least)
        scatter = self._scatter_m2 + self._least * (np.square(same[:, :3] - self._late).sum(axis=1) - self._scatter_m2)
        late = self._late + self._quick * (same[:, :3] - self._late)
        pose = self.pose + share[:, None] * (same - self.pose)
        elsewhere_m = np.sqrt(np.square(late - pose[:, :3]).sum(axis=1))
        # The mean of the last few readings has about a third of the standard deviation of one.
        moved = where & ~new & (elsewhere_m > np.maximum(MOVED_M, MOVED_SHARE * np.sqrt(scatter) / 3))
        pose[moved, :3] = late[moved]
        again = new | moved
        self._seen[again], scatter[again] = 1, 0.0
        pose[new], late[new] = readings[new], readings[new, :3]
        self.pose = np.where(where[:, None], pose, self.pose)
        self.lay_m = np.where(where, pose[:, 2], self.lay_m)
        self._late = np.where(where[:, None], late, self._late)
        self._scatter_m2 = np.where(where, scatter, self._scatter_m2)

    def update_held(
        self,
        readings: np.ndarray,
        where: np.ndarray,
        *,
        hand: np.ndarray,
        tool_m: np.ndarray,
        measured_m: np.ndarray,
        still: np.ndarray,
    ) -> None:
        """Update held objects.

        Args:
            readings: (width, 7) tracker readings.
            where: (width,) True for held objects.
            hand: (width,) number of the hand that holds the object.
            tool_m: predicted position of the tool.
            measured_m: measured position of the tool.
            still: True where the arm is at rest, so that these two positions are the same.
        """
        passed = where & self._held & (hand != self._hand)
        new = where & (~self._held | passed)
        known = (new & (self._seen > 0)) | passed
        off_m = readings[:, :3] - measured_m
        off_m[known] = (self.pose[:, :3] - measured_m)[known]
        share = np.where(new, 1.0, np.where(still, self._quick, 0.0))[:, None]
        in_hand_m = self._in_hand_m + share * (off_m - self._in_hand_m)
        self._in_hand_m = np.where(where[:, None], in_hand_m, self._in_hand_m)
        self._held |= where
        self._hand = np.where(where, hand, self._hand)
        self._seen[where] = 0
        self.pose = np.where(where[:, None], np.concatenate([tool_m + in_hand_m, readings[:, 3:]], axis=1), self.pose)
