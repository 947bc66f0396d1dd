"""Quantisation step and noise of an encoder, from a joint at rest."""

from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import IntervalEstimate, deviation, profiled

FINEST = 1e-9  # rad; readings closer than this count as equal
NOISE_PLACES = 24


@dataclass(frozen=True)
class EncoderFloor:
    """Step and noise of an encoder in radians.

    Attributes:
        step: quantisation step; 0 if the readings show none, None if it is unknown.
        noise: standard deviation of the noise; None if it is unknown.
        why_unknown: why step and noise are unknown; "" if they are known.
    """

    step: IntervalEstimate | None
    noise: IntervalEstimate | None
    why_unknown: str = ""


def encoder_floor(readings_rad: np.ndarray) -> EncoderFloor:
    """Estimate step and noise from (frames,) readings of one joint at rest."""
    readings = np.asarray(readings_rad, float)
    tolerance = max(FINEST, 4 * float(np.spacing(np.float32(np.abs(readings).max()))))
    values = _apart(np.unique(readings), tolerance)
    if len(values) == 1:
        return EncoderFloor(None, None, "all readings are equal: the noise is below half a step of unknown size")
    step = _step(values, tolerance)
    if step is None:
        return EncoderFloor(
            IntervalEstimate(0.0, 0.0, 0.0), deviation(readings - readings.mean(), degrees=len(readings) - 1)
        )
    error = 2 * tolerance / max(round((values[-1] - values[0]) / step), 1)
    return EncoderFloor(IntervalEstimate(step, step - error, step + error), _noise(readings, step))


def _apart(values: np.ndarray, tolerance: float) -> np.ndarray:
    return values[np.concatenate([[True], np.diff(values) > tolerance])]


def _step(values: np.ndarray, tolerance: float) -> float | None:
    """The step of which all gaps between readings are whole multiples; None if there is none."""
    gaps = np.diff(values)
    smallest = float(gaps.min())
    if smallest < 8 * tolerance:
        return None
    # A gap may span several steps. Fractions of the smallest gap are not tried, because noise that reaches two steps
    # also reaches one.
    counts = np.round(gaps / smallest)
    if np.any(np.abs(gaps - counts * smallest) > 0.02 * smallest + tolerance * counts):
        return None
    return float(gaps.sum() / counts.sum())


def _noise(readings: np.ndarray, step: float) -> IntervalEstimate:
    """Maximum-likelihood noise from the counts of each step, for normal noise about an unknown true position."""
    from scipy.special import log_ndtr, ndtr

    base = np.median(readings)
    numbers, counts = np.unique(np.round((readings - base) / step), return_counts=True)
    spread = float(np.sqrt(np.average(numbers**2, weights=counts) - np.average(numbers, weights=counts) ** 2))

    def at_place(noise: float, place: np.ndarray) -> np.ndarray:
        upper = (numbers[:, None] + 0.5 - place) / noise
        lower = (numbers[:, None] - 0.5 - place) / noise
        # The difference is computed in the smaller tail, to avoid cancellation.
        flip = lower > 0
        a, b = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
        share = ndtr(a) - ndtr(b)
        log_share = np.where(share > 1e-290, np.log(np.maximum(share, 1e-300)), log_ndtr(a))
        return counts @ log_share

    def best_place(noise: float) -> float:
        centre, reach = float(np.average(numbers, weights=counts)), 1.0
        for _ in range(6):
            centres = centre + np.linspace(-reach, reach, 21)
            centre, reach = float(centres[np.argmax(at_place(noise, centres))]), reach / 6
        return float(at_place(noise, np.array([centre]))[0])

    widest = max(spread, 0.3) * 3
    return profiled(best_place, np.geomspace(0.02, widest, NOISE_PLACES)).scaled(step)
