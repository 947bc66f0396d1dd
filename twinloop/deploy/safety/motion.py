"""MotionLimiter: commands that respect position, velocity and acceleration, one control period after the other.

A command is where a joint is to be at the end of a period. With c the last command and v its velocity, the next is
c + v' · dt. v' may differ from v by a · dt at most, and must leave room to stop: slowing down by a · dt in each of the
periods to come, the joint has to end within its limits. With x = v' / (a · dt) and n = floor(x) that way is
a · dt² · ((n + 1) x - n (n + 1) / 2), which `fastest` solves for x. If v' leaves room to stop, then so does v' - a · dt
in the next period: there always is a way on.
"""

import numpy as np

from twinloop.deploy.safety.bounds import Bounds


def fastest(distance: np.ndarray, step: np.ndarray, period_s: float) -> np.ndarray:
    """The largest velocity with which one can still stop within `distance`. step: a · dt, what a period may change."""
    share = np.maximum(distance, 0) / (step * period_s)
    whole = np.floor(np.sqrt(2 * share + 0.25) - 0.5)
    return step * (share / (whole + 1) + whole / 2)


class MotionLimiter:
    """position, velocity: of the last command."""

    def __init__(self, bounds: Bounds, *, period_s: float):
        self.period_s = period_s
        self._low, self._high = bounds.position.T
        # From one end to the other in a period: what is infinite cannot be more, and sums stay finite.
        jump = (self._high - self._low) / period_s
        self._most = np.minimum(bounds.velocity, jump)
        self._step = np.minimum(bounds.acceleration * period_s, 2 * jump)
        self.begin((self._low + self._high) / 2)

    def begin(self, position: np.ndarray) -> None:
        """At rest here; within the limits, wherever it is measured to be."""
        self.position = self.within(np.asarray(position, float))
        self.velocity = np.zeros_like(self.position)
        self._wanted = self.position

    def within(self, wanted: np.ndarray) -> np.ndarray:
        # Not np.clip, here and below: on a few numbers it spends most of its time on its arguments.
        return np.minimum(np.maximum(wanted, self._low), self._high)

    def chase(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The velocity that is best to get to `wanted`, and the one that would be there at the end of this period.

        A target that moves is followed at its pace; whatever is missing is caught up with as fast as one can stop
        again. So nothing swings past a target that stands still, and nothing lags behind one that moves.
        """
        at_once = (wanted - self.position) / self.period_s
        pace = np.minimum(np.maximum((wanted - self._wanted) / self.period_s, -self._most), self._most)
        behind = self._wanted - self.position
        self._wanted = wanted
        return pace + np.sign(behind) * fastest(np.abs(behind), self._step, self.period_s), at_once

    def rest(self) -> np.ndarray:
        """The velocity of whoever wants to stand still."""
        self._wanted = self.position
        return np.zeros_like(self.position)

    def possible(self, velocity: np.ndarray) -> np.ndarray:
        """The nearest velocity that the limits allow now."""
        room = np.stack([self._high - self.position, self.position - self._low])
        up, down = np.minimum(self._most, fastest(room, self._step, self.period_s))
        highest = np.minimum(up, self.velocity + self._step)
        lowest = np.maximum(-down, self.velocity - self._step)
        return np.minimum(np.maximum(velocity, lowest), highest)

    def braking(self, velocity: np.ndarray) -> np.ndarray:
        """A period later, of whoever stops as fast as can be."""
        return velocity - np.minimum(np.maximum(velocity, -self._step), self._step)

    def faster_than_allowed(self, velocity: np.ndarray) -> np.ndarray:
        return np.abs(velocity) > self._most * (1 + 1e-9)

    def stop_path(self, velocity: np.ndarray) -> np.ndarray:
        """(k, n) the commands from the next one, with this velocity, to a stand."""
        speed = np.abs(velocity)
        periods = max(1, int(np.ceil((speed / self._step).max())))
        speeds = np.maximum(speed - np.arange(periods)[:, None] * self._step, 0)
        return self.position + np.sign(velocity) * np.cumsum(speeds, axis=0) * self.period_s

    def move(self, velocity: np.ndarray) -> np.ndarray:
        """The next command."""
        before = self.position
        self.position = self.within(before + velocity * self.period_s)
        self.velocity = (self.position - before) / self.period_s
        return self.position.copy()
