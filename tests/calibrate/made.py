"""Logs of a bench whose truth is known: its own twin, with hidden values and a sensor's noise."""

import json
from pathlib import Path

import numpy as np

from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DATA = next((up / "shared" / "data" for up in ROOT.parents if (up / "shared" / "data").is_dir()), ROOT / "absent")
"""Real logs, which are no part of the project: they lie beside it, or nowhere."""

RATE_HZ, SECONDS = 200, 3.0
NOISE_RAD = 0.0005


def xl330() -> Bench:
    return load_bench(EXAMPLES / "xl330_bench.yaml")


def goals(kind: int) -> np.ndarray:
    """A slow lift, a rich sine, and one that gets faster, as they are recorded on the bench."""
    time_s = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    match kind:
        case 0:
            return 1.2 * np.sin(np.pi * time_s / SECONDS) ** 2
        case 1:
            return 0.6 * np.sin(2 * np.pi * time_s) + 0.4 * np.sin(6 * time_s)
        case _:
            return np.sin(1.6 * time_s**2)


def command(kind: int, kp: float, *, off_after_s: float = np.inf) -> Log:
    """A log that says what is commanded, and nothing yet of what came of it."""
    goal = goals(kind)
    time_s = np.arange(len(goal)) / RATE_HZ
    columns = {
        "goal_position": goal, "position": np.zeros_like(goal), "speed": np.zeros_like(goal),
        "torque_enable": (time_s < off_after_s).astype(float), "timestamp": time_s,
    }  # fmt: skip
    constants = {"kp": kp, "vin": 7.4, "mass": 0.49, "length": 0.1}
    return Log(f"made_{kind}_kp{kp:g}", time_s, {name: column[:, None] for name, column in columns.items()}, constants)


def commands() -> list[Log]:
    """The first ends with the motor off: only that tells friction from the motor's own braking."""
    return [command(kind, kp, off_after_s=2.0 if kind == 0 else np.inf) for kp in (100, 400) for kind in (0, 1, 2)]


def logs_of_truth(bench: Bench, truth: dict[str, float], *, seed: int, asked: list[Log] | None = None) -> list[Log]:
    """What the bench would have logged with these values."""
    asked = commands() if asked is None else asked
    plant = BenchSimulator(bench, asked, tuple(truth), where=Where(1))
    simulated = plant.simulate(np.array([list(truth.values())]))["position"][0, :, :, 0]
    rng = np.random.default_rng(seed)
    logs = []
    for log, position in zip(asked, simulated, strict=True):
        clean = position[: len(log)]
        seen = clean + rng.normal(0, NOISE_RAD, len(log))
        columns = {**log.columns, "position": seen[:, None], "speed": np.gradient(clean, 1 / RATE_HZ)[:, None]}
        logs.append(Log(log.name, log.time_s, columns, log.constants))
    return logs


def write_json(log: Log, folder: Path) -> Path:
    """A log as the bench's own recorder writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{name: float(column[k, 0]) for name, column in log.columns.items()} for k in range(len(log))]
    path = folder / f"{log.name}.json"
    path.write_text(json.dumps({**log.constants, "motor": "xl330", "entries": rows}))
    return path
