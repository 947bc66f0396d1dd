"""Random walk, bias instability and rate random walk of a gyroscope or accelerometer at rest.

Readings are modelled as the sum of white noise (standard deviation σ per sample; angle random walk N = σ√dt), flicker
noise of the bias (instability B) and a random walk of the bias (K per root second). Differences of successive readings
then have the spectrum

    λ(θ) = K² dt + 4 sin²(θ/2) (σ² + B²/θ),    0 < θ < π,

and a sine transform of n differences makes them independent, at θ = π k / (n + 1). This is exact for σ and K. All three
are estimated by maximum likelihood of this spectrum.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import IntervalEstimate, profiled

FEWEST = 64
FLICKER_SHOWS = 3.3  # gain of log-likelihood that 1 % of the logs without flicker reach by chance
LONE, BINS = 64, 240  # the lowest frequencies are kept one by one; the others are binned, as the spectrum is smooth


@dataclass(frozen=True)
class ImuNoise:
    """Noise of one axis, in the unit of the reading.

    Attributes:
        white: standard deviation σ per sample.
        random_walk: the white noise as a density, per root hertz.
        walk: random walk of the bias, per root second.
        instability: bias instability; None if the log shows no flicker.
        flicker_below: upper end of the interval of the bias instability.
    """

    white: IntervalEstimate
    random_walk: IntervalEstimate
    walk: IntervalEstimate
    instability: IntervalEstimate | None
    flicker_below: float


def imu_noise(readings: np.ndarray, rate_hz: float) -> ImuNoise:
    """Estimate the noise of one axis from (frames,) readings."""
    spectrum = _Spectrum(np.asarray(readings, float))
    flat, flickering = spectrum.best(flicker=False), spectrum.best(flicker=True)
    seen = flickering[0] - flat[0] > FLICKER_SHOWS
    start = (flickering if seen else flat)[1]
    white = profiled(lambda value: spectrum.profile(0, value, start, seen), _around(start[0], 1.5, 9))
    walk = profiled(lambda value: spectrum.profile(1, value, start, seen), _from_zero(start[1], spectrum.most_walk))
    flicker = profiled(
        lambda value: spectrum.profile(2, value, flickering[1], True), _from_zero(flickering[1][2], 2 * start[0])
    )
    return ImuNoise(
        white=white,
        random_walk=white.scaled(rate_hz**-0.5),
        walk=walk.scaled(rate_hz**0.5),
        instability=flicker if seen else None,
        flicker_below=flicker.high,
    )


def _around(value: float, factor: float, places: int) -> np.ndarray:
    return np.geomspace(value / factor, value * factor, places)


def _from_zero(value: float, most: float) -> np.ndarray:
    near = max(value, most * 1e-4)
    return np.unique(np.concatenate([[0.0], np.geomspace(near / 30, max(30 * near, most), 16)]))


class _Spectrum:
    """Log-likelihood of (σ per sample, K √dt per sample, B)."""

    def __init__(self, readings: np.ndarray):
        from scipy.fft import dst

        steps = np.diff(readings)
        n = len(steps)
        square = np.square(np.asarray(dst(steps, type=1))) / (2 * (n + 1))
        theta = np.pi * np.arange(1, n + 1) / (n + 1)
        edges = np.unique(np.concatenate([
            np.arange(min(LONE, n)), np.geomspace(min(LONE, n), n, BINS).astype(int)
        ]))[:-1]  # fmt: skip
        self.count = np.diff(np.append(edges, n)).astype(float)
        self.power = np.add.reduceat(square, edges) / self.count
        self.theta = np.add.reduceat(theta, edges) / self.count
        self.bend = np.add.reduceat(4 * np.sin(theta / 2) ** 2, edges) / self.count
        self.scale = float(np.sqrt(max(np.mean(square) / 2, 1e-300)))
        self.most_walk = float(np.sqrt(self.power.max()))

    def log_likelihood(self, white: float, walk: float, flicker: float) -> float:
        density = walk**2 + self.bend * (white**2 + flicker**2 / self.theta) + 1e-300
        return float(-0.5 * np.sum(self.count * (np.log(density) + self.power / density)))

    def best(self, *, flicker: bool) -> tuple[float, np.ndarray]:
        start = np.array([self.scale, 1e-2 * self.scale, 1e-2 * self.scale if flicker else 0.0])
        return self._search(start, free=(0, 1, 2) if flicker else (0, 1))

    def profile(self, fixed: int, value: float, start: np.ndarray, flicker: bool) -> float:
        place = start.copy()
        place[fixed] = value
        return self._search(place, free=tuple(k for k in ((0, 1, 2) if flicker else (0, 1)) if k != fixed))[0]

    def _search(self, start: np.ndarray, *, free: tuple[int, ...]) -> tuple[float, np.ndarray]:
        """Maximise the likelihood by Fisher scoring.

        The search is over the squares of the parameters: the density is linear in them, so the Fisher information is
        exact. A step that does not improve the likelihood is halved.
        """
        parts = np.stack([self.bend, np.ones_like(self.bend), self.bend / self.theta])
        square, scale = start**2, self.scale**2
        value = self.log_likelihood(*np.sqrt(square))
        for _ in range(60):
            density = square @ parts + 1e-300
            slopes = parts[list(free)] / density
            gradient = 0.5 * slopes @ (self.count * (self.power / density - 1))
            information = 0.5 * (slopes * self.count) @ slopes.T
            move = np.linalg.solve(information + 1e-12 * np.trace(information) * np.eye(len(free)), gradient)
            length, better, likelihood, candidate = 1.0, False, value, square
            while length > 1e-4 and not better:
                candidate = square.copy()
                candidate[list(free)] = np.maximum(square[list(free)] + length * move, 0)
                likelihood = self.log_likelihood(*np.sqrt(candidate))
                better = likelihood > value + 1e-9
                length /= 2
            if not better:
                break
            gain, value, square = likelihood - value, likelihood, np.minimum(candidate, 1e12 * scale)
            if gain < 1e-6:
                break
        return value, np.sqrt(square)
