"""MotionLimiter: limits position, velocity and acceleration of the commands in each control period.

A command is the position of a joint at the end of a period. With c the last command and v its velocity, the next one is
c + v' · dt. v' may differ from v by at most a · dt and must leave room to stop: if the joint slows down by a · dt in
each following period, it must stop within its position limits. With x = v' / (a · dt) and n = floor(x), the stopping
distance is a · dt² · ((n + 1) x - n (n + 1) / 2), which `fastest` solves for x. If v' leaves room to stop, then
v' - a · dt does so in the next period. A valid command therefore always exists.
"""

import numpy as np

from twinloop.deploy.safety.bounds import Bounds


def fastest(distance: np.ndarray, step: np.ndarray, period_s: float) -> np.ndarray:
    """Return the largest velocity from which a joint can stop within `distance`.

    Args:
        step: a · dt, the largest change of velocity in one period.
    """
    share = np.maximum(distance, 0) / (step * period_s)
    whole = np.floor(np.sqrt(2 * share + 0.25) - 0.5)
    return step * (share / (whole + 1) + whole / 2)


class MotionLimiter:
    """Limits commands one control period at a time. `position` and `velocity` are those of the last command."""

    def __init__(self, bounds: Bounds, *, period_s: float):
        self.period_s = period_s
        self._low, self._high = bounds.position.T
        # Infinite limits are replaced by a motion over the whole range in one period, so that sums stay finite.
        jump = (self._high - self._low) / period_s
        self._most = np.minimum(bounds.velocity, jump)
        self._step = np.minimum(bounds.acceleration * period_s, 2 * jump)
        self.begin((self._low + self._high) / 2)

    def begin(self, position: np.ndarray) -> None:
        """Start at rest at `position`, clipped to the limits."""
        self.position = self.within(np.asarray(position, float))
        self.velocity = np.zeros_like(self.position)
        self._wanted = self.position

    def within(self, wanted: np.ndarray) -> np.ndarray:
        # np.minimum and np.maximum are faster than np.clip on a few numbers (here and below).
        return np.minimum(np.maximum(wanted, self._low), self._high)

    def chase(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocity to follow the target `wanted`, and the one that would reach it within this period.

        The first is the target's own velocity plus the largest velocity from which the remaining distance suffices
        to stop. The joint therefore neither overshoots a resting target nor lags behind a moving one.
        """
        at_once = (wanted - self.position) / self.period_s
        pace = np.minimum(np.maximum((wanted - self._wanted) / self.period_s, -self._most), self._most)
        behind = self._wanted - self.position
        self._wanted = wanted
        return pace + np.sign(behind) * fastest(np.abs(behind), self._step, self.period_s), at_once

    def rest(self) -> np.ndarray:
        """Make the current position the target and return velocity 0."""
        self._wanted = self.position
        return np.zeros_like(self.position)

    def possible(self, velocity: np.ndarray) -> np.ndarray:
        """Return the nearest velocity that the limits allow in this period."""
        room = np.stack([self._high - self.position, self.position - self._low])
        up, down = np.minimum(self._most, fastest(room, self._step, self.period_s))
        highest = np.minimum(up, self.velocity + self._step)
        lowest = np.maximum(-down, self.velocity - self._step)
        return np.minimum(np.maximum(velocity, lowest), highest)

    def braking(self, velocity: np.ndarray) -> np.ndarray:
        """Return the velocity after one period of the hardest allowed braking."""
        return velocity - np.minimum(np.maximum(velocity, -self._step), self._step)

    def faster_than_allowed(self, velocity: np.ndarray) -> np.ndarray:
        return np.abs(velocity) > self._most * (1 + 1e-9)

    def stop_path(self, velocity: np.ndarray) -> np.ndarray:
        """Return (k, n) the commands from the next one, at this velocity, until the robot stands still."""
        speed = np.abs(velocity)
        periods = max(1, int(np.ceil((speed / self._step).max())))
        speeds = np.maximum(speed - np.arange(periods)[:, None] * self._step, 0)
        return self.position + np.sign(velocity) * np.cumsum(speeds, axis=0) * self.period_s

    def move(self, velocity: np.ndarray) -> np.ndarray:
        """Advance one period at this velocity and return the next command."""
        before = self.position
        self.position = self.within(before + velocity * self.period_s)
        self.velocity = (self.position - before) / self.period_s
        return self.position.copy()
