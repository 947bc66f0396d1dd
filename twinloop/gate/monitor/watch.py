"""Watched: up to four signals of the live policy's episodes, each compared with its value expected at promotion."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.statistics.monitor import Monitor, limit_watch, success_watch

SUCCESS, INTERVENTIONS, SAFETY, DRIFT = "success", "interventions", "safety", "drift"
UNDOING = (SUCCESS, INTERVENTIONS, SAFETY)
"""Signals whose alarm rolls back. An alarm of drift alone only opens an incident."""
LABELS = {
    SUCCESS: "success",
    INTERVENTIONS: "episodes with an intervention",
    SAFETY: "periods in which the safety filter prevented harm",
    DRIFT: "episodes with inputs unlike the training data",
}

DRIFT_FINE = 0.05
CALM = 1 / 3
"""Closeness to an alarm. The episodes since the closeness was last below this value raised the alarm."""


@dataclass(frozen=True)
class Watched:
    """One signal of the live policy.

    Attributes:
        expected: mean expected at promotion: a minimum if `lower_is_worse`, else a maximum.
        values: (n,) value of each episode, 0 to 1.
        closeness: (n,) closeness of the detector to an alarm after each episode, 0 to 1.
        alarm: number of the episode that raised the alarm, from 1; None without an alarm.
    """

    name: str
    expected: float
    lower_is_worse: bool
    values: np.ndarray
    closeness: np.ndarray
    alarm: int | None

    @property
    def began(self) -> int:
        """Row of the first episode that contributed to the alarm."""
        if self.alarm is None:
            return 0
        calm = np.flatnonzero(self.closeness[: self.alarm] < CALM)
        return int(calm[-1]) if len(calm) else 0

    @property
    def bad(self) -> np.ndarray:
        """(n,) whether the value of an episode is worse than expected."""
        return self.values < self.expected if self.lower_is_worse else self.values > self.expected

    @property
    def sentence(self) -> str:
        bound = "at least" if self.lower_is_worse else "at most"
        expectation = f"{bound} {100 * self.expected:.0f} % expected"
        if not len(self.values):
            return f"{LABELS[self.name]}: no episode yet, {expectation}"
        if self.alarm is None:
            return (
                f"{LABELS[self.name]}: {100 * self.values.mean():.0f} % over {len(self.values)} episodes, {expectation}"
            )
        recent = self.values[self.began : self.alarm]
        return (
            f"{LABELS[self.name]}: {100 * recent.mean():.0f} % in the {len(recent)} episodes up to number "
            f"{self.alarm}, "
            f"{expectation}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "signal": self.name, "episodes": len(self.values), "expected": self.expected,
            "mean": float(self.values.mean()) if len(self.values) else None, "alarm": self.alarm, "began": self.began,
            "closeness": [round(float(value), 4) for value in self.closeness], "sentence": self.sentence,
        }  # fmt: skip


def monitor_of(rules: RulesConfig, *, promoted_at: Rate, drift: bool) -> Monitor:
    """Return a monitor for the limits at promotion. `promoted_at` is the success rate in the promotion trials."""
    rises, limits = rules.monitor, rules.production
    watches = [
        success_watch(promoted_at.successes, promoted_at.trials, drop=rises.drop),
        limit_watch(INTERVENTIONS, limits.interventions, rise=rises.interventions),
        limit_watch(SAFETY, limits.safety, rise=rises.safety),
    ]
    if drift:
        watches.append(limit_watch(DRIFT, DRIFT_FINE, rise=rises.drift))
    return Monitor(tuple(watches), float(rises.false_alarm_episodes))


def watch(monitor: Monitor, real: RealEpisodes, unusual: np.ndarray | None) -> tuple[Watched, ...]:
    """Update a new `monitor` with these episodes and return its signals.

    Args:
        unusual: (n,) whether the inputs of an episode are unlike the training data; None if drift is not monitored.
    """
    values: dict[str, np.ndarray] = {
        SUCCESS: real.managed.astype(float),
        INTERVENTIONS: (real.interventions > 0).astype(float),
        SAFETY: real.blocked / np.maximum(real.length, 1),
    }
    if unusual is not None:
        values[DRIFT] = np.asarray(unusual, float)
    path: dict[str, list[float]] = {name: [] for name in values}
    for row in range(len(real)):
        monitor = monitor.update({name: float(signal[row]) for name, signal in values.items()})
        for name, close in monitor.closeness.items():
            path[name].append(close)
    return tuple(
        Watched(signal.name, signal.expected, signal.worse == "lower", values[signal.name], np.array(path[signal.name]),
                monitor.alarms.get(signal.name))
        for signal in monitor.watches
    )  # fmt: skip
