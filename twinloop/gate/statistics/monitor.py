"""Change detection on a live policy: an early alarm when a signal becomes worse than expected, with few false alarms.

Each episode gives numbers in 0..1: success, intervention, the share of periods in which the safety filter acted, and
how much of the inputs is out-of-distribution. The mean of each is expected to be at least, or at most, a given value.
Bets (see `bets`) are made against this expectation. The time of a change is unknown, so each episode adds one unit of
wealth: wealth = (wealth + 1) · gain. While the expectation holds, the mean wealth after t episodes is at most t. The
mean number of episodes before the wealth exceeds A is then at least A, and the probability of exceeding A within t
episodes is at most t/A. This is the Shiryaev-Roberts e-detector of Shin, Ramdas and Rinaldo (2024).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from twinloop.gate.statistics.bets import Bets, best_share, bets
from twinloop.gate.statistics.binomial import rate_bound

Worse = Literal["lower", "higher"]
SHARES = 16
MAX_WEALTH = 1e300
FALSE_ALARM_EPISODES = 2000.0


@dataclass(frozen=True)
class MonitoredSignal:
    """One monitored number.

    Attributes:
        expected: the expected mean: a minimum if lower is worse, a maximum if higher is worse.
        worse: the direction that is worse.
        notice: the mean for which the detector is tuned to be fastest; other means are detected too. None: no tuning.
    """

    name: str
    expected: float
    worse: Worse
    notice: float | None = None

    def __post_init__(self) -> None:
        if self.worse not in ("lower", "higher"):
            raise ValueError(f"{self.name}: worse is {self.worse!r}; lower or higher was expected")
        if not 0 < self.expected < 1:
            raise ValueError(f"{self.name}: expected is {self.expected}; a number between 0 and 1 was expected")
        if self.notice is not None and not 0 <= self.notice <= 1:
            raise ValueError(f"{self.name}: notice is {self.notice}; a number from 0 to 1 was expected")

    @cached_property
    def bets(self) -> Bets:
        most, mean = self._badness(self.expected), None if self.notice is None else self._badness(self.notice)
        aimed = best_share([0.0, 1.0], [1 - mean, mean], most) if mean is not None and mean > most else None
        return bets(aimed=aimed, shares=SHARES)

    def gains(self, value: float) -> np.ndarray:
        """(shares,) factor by which this value multiplies the wealth."""
        return self.bets.factors(self._badness(value), self._badness(self.expected))

    def _badness(self, value: float) -> float:
        return 1 - value if self.worse == "lower" else value

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "expected": self.expected, "worse": self.worse, "notice": self.notice}


@dataclass(frozen=True)
class DetectorState:
    """The state of one signal's detector.

    Attributes:
        wealth: wealth on each share.
        seen: number of values.
        total: sum of the values.
        alarmed_at: number of the episode that raised the alarm, from 1; None without an alarm.
    """

    wealth: tuple[float, ...]
    seen: int = 0
    total: float = 0.0
    alarmed_at: int | None = None

    @property
    def mean(self) -> float | None:
        return self.total / self.seen if self.seen else None


@dataclass(frozen=True)
class Monitor:
    """Detectors of several signals. `update` returns the next state, and JSON stores the state between sessions.

    Attributes:
        watches: the signals.
        false_alarm_episodes: minimum mean number of episodes before a false alarm of any signal. A false alarm within t
            episodes has probability at most t / false_alarm_episodes.
        episodes: number of episodes so far.
        states: the detector state of each signal.
    """

    watches: tuple[MonitoredSignal, ...]
    false_alarm_episodes: float = FALSE_ALARM_EPISODES
    episodes: int = 0
    states: tuple[DetectorState, ...] = field(default=())

    def __post_init__(self) -> None:
        names = [watch.name for watch in self.watches]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"watches {names} were given; at least one was expected, with different names")
        if not (math.isfinite(self.false_alarm_episodes) and self.false_alarm_episodes > 1):
            raise ValueError(f"false_alarm_episodes: {self.false_alarm_episodes} was given; more than 1 was expected")
        if not self.states:
            blank = tuple(DetectorState((0.0,) * len(watch.bets.shares)) for watch in self.watches)
            object.__setattr__(self, "states", blank)

    @property
    def threshold(self) -> float:
        """Wealth at which a signal raises the alarm. It grows with the number of signals, which share false alarms."""
        return self.false_alarm_episodes * len(self.watches)

    @property
    def alarms(self) -> dict[str, int]:
        """Signal -> number of the episode that raised the alarm, from 1."""
        pairs = zip(self.watches, self.states, strict=True)
        return {watch.name: state.alarmed_at for watch, state in pairs if state.alarmed_at is not None}

    @property
    def closeness(self) -> dict[str, float]:
        """Signal -> closeness to an alarm, 0 to 1: the log of its wealth relative to the log of the threshold."""
        return {
            watch.name: float(np.clip(np.log1p(self._wealth(watch, state)) / np.log1p(self.threshold), 0, 1))
            for watch, state in zip(self.watches, self.states, strict=True)
        }

    def update(self, values: Mapping[str, float | None]) -> "Monitor":
        """Return the monitor after one more episode. A signal that is absent or None has no value in this episode."""
        known = {watch.name for watch in self.watches}
        if unknown := sorted(set(values) - known):
            raise ValueError(f"{', '.join(unknown)}: not monitored; signals: {', '.join(sorted(known))}")
        number = self.episodes + 1
        states = tuple(
            self._next(watch, state, values.get(watch.name), number)
            for watch, state in zip(self.watches, self.states, strict=True)
        )
        return replace(self, episodes=number, states=states)

    def _next(self, watch: MonitoredSignal, state: DetectorState, value: float | None, number: int) -> DetectorState:
        if value is None:
            return state
        if not 0 <= value <= 1:
            raise ValueError(f"{watch.name}: {value} in episode {number}; a number from 0 to 1 was expected")
        wealth = np.minimum((np.array(state.wealth) + 1) * watch.gains(float(value)), MAX_WEALTH)
        now = DetectorState(tuple(wealth.tolist()), state.seen + 1, state.total + float(value), state.alarmed_at)
        alarmed = state.alarmed_at is None and self._wealth(watch, now) >= self.threshold
        return replace(now, alarmed_at=number) if alarmed else now

    @staticmethod
    def _wealth(watch: MonitoredSignal, state: DetectorState) -> float:
        return float(np.array(state.wealth) @ watch.bets.weights)

    def to_json(self) -> dict[str, Any]:
        return {
            "false_alarm_episodes": self.false_alarm_episodes,
            "episodes": self.episodes,
            "watches": [
                watch.to_json()
                | {
                    "money": list(state.wealth),
                    "seen": state.seen,
                    "total": state.total,
                    "alarmed_at": state.alarmed_at,
                }
                for watch, state in zip(self.watches, self.states, strict=True)
            ],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Monitor":
        """Restore a monitor from `to_json`.

        Raises:
            ValueError, TypeError, KeyError: the value was not made by `to_json`.
        """
        watches, states = [], []
        for row in value["watches"]:
            watch = MonitoredSignal(row["name"], row["expected"], row["worse"], row["notice"])
            wealth = tuple(float(amount) for amount in row["money"])
            if len(wealth) != len(watch.bets.shares) or not all(
                math.isfinite(amount) and amount >= 0 for amount in wealth
            ):
                raise ValueError(
                    f"{watch.name}: {len(wealth)} amounts of wealth were given; {len(watch.bets.shares)} "
                    "finite ones from 0 were expected"
                )
            alarmed_at = None if row["alarmed_at"] is None else int(row["alarmed_at"])
            watches.append(watch)
            states.append(DetectorState(wealth, int(row["seen"]), float(row["total"]), alarmed_at))
        return cls(tuple(watches), float(value["false_alarm_episodes"]), int(value["episodes"]), tuple(states))


def success_watch(successes: int, trials: int, *, confidence: float = 0.9, drop: float = 0.15) -> MonitoredSignal:
    """Return the success signal, with the lower bound of the promotion trials as expected rate.

    With the measured rate, lucky promotion trials would cause false alarms.
    """
    low = _inside(rate_bound(successes, trials, confidence=confidence).low)
    return MonitoredSignal("success", low, "lower", max(low - drop, 0.0))


def limit_watch(name: str, limit: float, *, rise: float) -> MonitoredSignal:
    """Return a signal for a share that should not exceed `limit`, such as episodes with an intervention."""
    expected = float(np.clip(limit, 0.01, 0.98))
    return MonitoredSignal(name, expected, "higher", min(expected + rise, 1.0))


def _inside(mean: float) -> float:
    return float(np.clip(mean, 0.001, 0.999))
