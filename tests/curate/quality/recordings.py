"""Synthetic clean recordings of an arm: smooth commands, drives that follow, encoders with steps."""

import numpy as np

from twinloop.curate.quality import RecordedEpisode
from twinloop.signals.response import simulate

JOINTS = ("base", "shoulder", "elbow", "wrist", "gripper")


def clean_take(
    attempt: int, *, seed: int, rate_hz: float = 50.0, seconds: float = 6.0, unit: str = "rad"
) -> RecordedEpisode:
    rng = np.random.default_rng([seed, attempt])
    rows = int(rate_hz * seconds * rng.uniform(0.8, 1.2))
    size = 1.0 if unit == "rad" else 180 / np.pi
    arm = np.stack([_reaches(rows, rng) * rng.uniform(0.5, 1.0) + offset for offset in (0.1, -0.9, 1.4, 0.6)], axis=1)
    action = np.concatenate([arm * size, _grip(rows, rng)[:, None]], axis=1)
    seen = np.stack([simulate(column, 0.03, 0.06, rate_hz=rate_hz) for column in action.T], axis=1)
    seen[:, 4] = np.maximum(seen[:, 4], 0.03)  # stopped by a held object
    quantum = np.array([*[0.0015 * size] * 4, 0.0002])
    seen = np.round((seen + rng.normal(0, 0.4, seen.shape) * quantum) / quantum) * quantum
    time_s = np.arange(rows) / rate_hz + rng.normal(0, 0.01 / rate_hz, rows)
    units = (unit,) * 4 + ("m",)
    return RecordedEpisode(
        attempt=attempt, label=f"recording {attempt}", rate_hz=rate_hz, rows=rows, time_s=time_s,
        signals={"action": action, "observation.state": seen},
        names={"action": JOINTS, "observation.state": JOINTS}, units={"action": units, "observation.state": units},
    )  # fmt: skip


def clean_recordings(count: int, *, seed: int, rate_hz: float = 50.0, unit: str = "rad") -> list[RecordedEpisode]:
    return [clean_take(attempt, seed=seed, rate_hz=rate_hz, unit=unit) for attempt in range(count)]


def _reaches(rows: int, rng: np.random.Generator) -> np.ndarray:
    """From rest to rest through a few places, without a jerk, with pauses in between."""
    marks = np.concatenate([[0.0], rng.uniform(-1, 1, 5), [0.0]])
    ends = np.sort(rng.uniform(0.1, 0.9, len(marks) - 1))
    t = np.linspace(0, 1, rows)
    out = np.full(rows, marks[0])
    for before, after, end in zip(marks[:-1], marks[1:], ends, strict=True):
        s = np.clip((t - end + 0.08) / 0.08, 0, 1)
        out += (after - before) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    return out


def _grip(rows: int, rng: np.random.Generator) -> np.ndarray:
    closes, opens = int(rows * rng.uniform(0.3, 0.4)), int(rows * rng.uniform(0.7, 0.8))
    out = np.full(rows, 0.08)
    out[closes:opens] = 0.0
    return np.convolve(np.pad(out, 5, mode="edge"), np.ones(11) / 11, mode="valid")
