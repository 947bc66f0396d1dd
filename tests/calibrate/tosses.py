"""Tosses of the example's cube, made by its own twin with hidden contact parameters."""

from pathlib import Path

import numpy as np

from twinloop.calibrate.beginning import multiplied
from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where

EXAMPLE = Path("examples/cube_toss.yaml")
HALF_M, RATE_HZ = 0.0524, 148.0


def flying(frames: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(place, turn, velocity, spin) of a cube in the air: exact, in metres and radians."""
    time = np.arange(frames) / RATE_HZ
    velocity, spin = rng.uniform([-1, -1, -0.2], [1, 1, 0.2]), rng.uniform(-6, 6, 3)
    place = np.array([0, 0, 0.16]) + np.outer(time, velocity) - np.outer(time**2, [0, 0, 9.81 / 2])
    first = rng.standard_normal(4)
    first /= np.linalg.norm(first)
    rate = np.linalg.norm(spin)
    turns = [multiplied(first, np.array([np.cos(rate * t / 2), *(np.sin(rate * t / 2) * spin / rate)])) for t in time]
    return place, np.array(turns), velocity, spin


def tossed(truth: dict[str, float], *, count: int, frames: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Name -> (frames, 13) as such logs are, with the noise of a motion capture."""
    bench = load_bench(EXAMPLE)
    logs = []
    for number in range(count):
        place, turn, velocity, spin = flying(frames, rng)
        rows = np.column_stack([place / HALF_M, turn, np.tile(np.r_[velocity / HALF_M, spin], (frames, 1))])
        logs.append(_log(f"toss{number}", rows))
    plant = BenchSimulator(bench, logs, tuple(truth), where=Where(2))
    simulated = plant.simulate(np.array([list(truth.values())]))
    arrays = {}
    for number, log in enumerate(logs):
        place = simulated["place"][0, number] / HALF_M + 0.002 * rng.standard_normal((frames, 3))
        turn = simulated["turn"][0, number] + 0.001 * rng.standard_normal((frames, 4))
        velocity = log.columns["state"][:, 7:] + 0.2 * rng.standard_normal((frames, 6))
        arrays[log.name] = np.column_stack([place, turn / np.linalg.norm(turn, axis=1, keepdims=True), velocity])
    return arrays


def logs_of(arrays: dict[str, np.ndarray]) -> list[Log]:
    return [_log(name, rows) for name, rows in arrays.items()]


def bench() -> Bench:
    return load_bench(EXAMPLE)


def _log(name: str, rows: np.ndarray) -> Log:
    return Log(name, np.arange(len(rows)) / RATE_HZ, {"state": rows})
