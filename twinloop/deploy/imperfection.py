"""Imperfection: what tells a human's demonstration from a script's.

    reaction     nothing is answered at once: 231 ms on average to a visual stimulus (Woods et al. 2015, 1469 people)
    tremor       a hand held out shakes at 8 to 12 Hz (Lakie et al. 2015: a peak between 6 and 12), by some 0.15 mm with
                 the arm stretched out (Growdon et al. 2000: 30 µm at rest, four to five times that)
    submovements a first movement that covers most of the way and mostly falls short, then corrections (Woodworth 1899;
                 Meyer et al. 1988; Elliott et al. 2004)
    drift        slow error of a hand that follows no line exactly
    speed        nobody is as quick twice
    hesitation   a stop on the way, for no reason that shows
    re-grasp     fingers that open once more before they trust their grip

The first three have numbers of physiology behind them. How far short a first movement falls, drift, speed, hesitations
and re-grasps are set by judgement; recordings of your own people are the better source.
"""

from dataclasses import dataclass

import numpy as np

WAVES = 6
"""Sinusoids that make up the tremor of a joint."""
NYQUIST = 0.48
"""Of the rate: faster shaking than that a recording cannot show."""


@dataclass(frozen=True)
class ImperfectionConfig:
    """reaction_s: the median; reactions spread by `reaction_spread` (standard deviation of the logarithm).
    tremor_rad: of each joint, root mean square, in the band `tremor_hz`.
    drift_rad, drift_s: standard deviation and memory of the slow error of each joint.
    undershoot: share of the way that a first movement falls short, drawn between these; sideways: share it misses by.
    left_over: what a correction leaves of an error.
    smooth_s: time in which a hand stops or starts.
    speed_spread: standard deviation of the logarithm of a demonstration's speed, within `speeds`.
    hesitations_per_s, hesitation_s: how often, and how long in the median. regrasp: the chance of one.
    """

    reaction_s: float = 0.23
    reaction_spread: float = 0.2
    tremor_rad: float = 0.0003
    tremor_hz: tuple[float, float] = (8.0, 12.0)
    drift_rad: float = 0.003
    drift_s: float = 0.8
    undershoot: tuple[float, float] = (0.02, 0.1)
    sideways: float = 0.02
    left_over: float = 0.15
    smooth_s: float = 0.06
    speed_spread: float = 0.2
    speeds: tuple[float, float] = (0.55, 1.3)
    hesitations_per_s: float = 0.06
    hesitation_s: float = 0.4
    hesitation_spread: float = 0.5
    regrasp: float = 0.08
    regrasp_s: float = 0.5


class ImperfectHand:
    """That of one demonstration: a function of its generator and nothing else."""

    def __init__(self, config: ImperfectionConfig, *, joints: int, period_s: float, rng: np.random.Generator):
        self.config, self._rng, self._period_s = config, rng, period_s
        self.speed = float(np.clip(rng.lognormal(0, config.speed_spread), *config.speeds))
        self.regrasps = bool(rng.random() < config.regrasp)
        low, high = config.tremor_hz
        high = min(high, NYQUIST / period_s)
        shakes = config.tremor_rad * np.sqrt(2 / WAVES) * (high > low)
        self._rate = 2 * np.pi * rng.uniform(min(low, high), high, (WAVES, joints))
        self._begin, self._size = rng.uniform(0, 2 * np.pi, (WAVES, joints)), shakes
        self._drift = config.drift_rad * rng.standard_normal(joints)
        self._ticks = 0
        self._at: np.ndarray | None = None

    def reaction(self) -> int:
        """Control periods until something seen is answered."""
        return self._periods(self.config.reaction_s, self.config.reaction_spread)

    def hesitation(self) -> int:
        """Control periods of standing still from now on; mostly none."""
        if self._rng.random() >= self.config.hesitations_per_s * self._period_s:
            return 0
        return self._periods(self.config.hesitation_s, self.config.hesitation_spread)

    def aim(self, way_m: np.ndarray) -> np.ndarray:
        """(3,) by which a movement of this way misses: short of it, and to a side; never in height."""
        level = np.array([way_m[0], way_m[1], 0.0])
        side = np.array([-way_m[1], way_m[0], 0.0])
        return (
            -self._rng.uniform(*self.config.undershoot) * level
            + self.config.sideways * self._rng.standard_normal() * side
        )

    def shaken(self, arm_rad: np.ndarray) -> np.ndarray:
        """Where the hand is in this control period, when it is to be there."""
        config = self.config
        self._at = arm_rad if self._at is None else self._at + self._share(config.smooth_s) * (arm_rad - self._at)
        time_s = self._ticks * self._period_s
        tremor = self._size * np.sin(self._rate * time_s + self._begin).sum(axis=0)
        keep = 1 - self._share(config.drift_s)
        fresh = config.drift_rad * np.sqrt(1 - keep**2) * self._rng.standard_normal(len(arm_rad))
        shaken = self._at + tremor + self._drift
        self._drift = keep * self._drift + fresh
        self._ticks += 1
        return shaken

    def _share(self, seconds: float) -> float:
        return 1 - float(np.exp(-self._period_s / seconds)) if seconds > 0 else 1.0

    def _periods(self, median_s: float, spread: float) -> int:
        return round(median_s * self._rng.lognormal(0, spread) / self._period_s)
