"""Imperfections of a human demonstrator, which a scripted demonstrator can imitate.

    reaction     delay of a response: 231 ms on average to a visual stimulus (Woods et al. 2015, 1469 people)
    tremor       a hand held out shakes at 8 to 12 Hz (Lakie et al. 2015: a peak between 6 and 12), by about 0.15 mm
                 with the arm stretched out (Growdon et al. 2000: 30 µm at rest, four to five times that)
    submovements a first movement that covers most of the distance and usually falls short, then corrections
                 (Woodworth 1899; Meyer et al. 1988; Elliott et al. 2004)
    drift        slow error of the hand's path
    speed        varies between demonstrations
    hesitation   a stop on the way without visible reason
    re-grasp     the fingers open and close once more after a grasp

The values of the first three come from physiology. The undershoot of a first movement, drift, speed, hesitations and
re-grasps are estimates; recordings of your own demonstrators are a better source.
"""

from dataclasses import dataclass

import numpy as np

WAVES = 6
"""Number of sinusoids in the tremor of a joint."""
NYQUIST = 0.48
"""Highest tremor frequency as a share of the control rate; a recording cannot represent faster tremor."""


@dataclass(frozen=True)
class ImperfectionConfig:
    """Sizes of the imperfections.

    Attributes:
        reaction_s, reaction_spread: median of the reaction time, and standard deviation of its logarithm.
        tremor_rad: RMS of the tremor of each joint, in the band `tremor_hz`.
        drift_rad, drift_s: standard deviation and time constant of the slow error of each joint.
        undershoot: range of the share of the distance by which a first movement falls short.
        sideways: standard deviation of the sideways error, as a share of the distance.
        left_over: share of an error that remains after a correction.
        smooth_s: time constant with which the hand starts and stops.
        speed_spread: standard deviation of the logarithm of a demonstration's speed, which is clipped to `speeds`.
        hesitations_per_s: rate of hesitations.
        hesitation_s, hesitation_spread: median of their duration, and standard deviation of its logarithm.
        regrasp: probability of a re-grasp.
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
    """The imperfections of one demonstration, drawn from `rng` alone."""

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
        """Draw a reaction time, in control periods."""
        return self._periods(self.config.reaction_s, self.config.reaction_spread)

    def hesitation(self) -> int:
        """Draw whether a hesitation starts now. Return its length in control periods, or 0."""
        if self._rng.random() >= self.config.hesitations_per_s * self._period_s:
            return 0
        return self._periods(self.config.hesitation_s, self.config.hesitation_spread)

    def aim(self, way_m: np.ndarray) -> np.ndarray:
        """Draw (3,) the error of a first movement over `way_m`: short and sideways, but not in height."""
        level = np.array([way_m[0], way_m[1], 0.0])
        side = np.array([-way_m[1], way_m[0], 0.0])
        return (
            -self._rng.uniform(*self.config.undershoot) * level
            + self.config.sideways * self._rng.standard_normal() * side
        )

    def shaken(self, arm_rad: np.ndarray) -> np.ndarray:
        """Return the hand's position in this control period: `arm_rad` smoothed, with tremor and drift."""
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
