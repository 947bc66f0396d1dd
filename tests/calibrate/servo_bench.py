"""A light pendulum on a position servo, for tests of the servo model."""

from pathlib import Path

import numpy as np

from twinloop.calibrate.bench import Bench, load_bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import Where

RATE_HZ = 50
MODEL = """
<mujoco><worldbody><body><joint name="swing" axis="0 1 0"/><inertial pos="0 0 -0.1" mass="0.1" diaginertia="1e-4 1e-4
1e-4"/></body></worldbody></mujoco>
"""
BENCH = """
twin: {mjcf: thing.xml, timestep_ms: 5}
logs: {format: npz, files: "*.npz", rate_hz: 50}
measured:
  angle: {column: state, elements: [0], joint: swing, unit: rad}
commanded:
  goal: {column: action, elements: [0], joint: swing, unit: rad}
drive:
  model: position_servo
  joints: [swing]
  parameters: {PARAMETERS}
fit: [FIT]
"""


def servo_bench(folder: Path, parameters: str, fit: str) -> Bench:
    (folder / "thing.xml").write_text(MODEL)
    (folder / "thing.yaml").write_text(BENCH.replace("PARAMETERS", parameters).replace("FIT", fit))
    return load_bench(folder / "thing.yaml")


def servo_log(goal: np.ndarray, position: np.ndarray | None = None, name: str = "log") -> Log:
    position = np.zeros_like(goal) if position is None else position
    columns = {"action": goal[:, None], "state": position[:, None]}
    return Log(name, np.arange(len(goal)) / RATE_HZ, columns)


def simulated_log(bench: Bench, goal: np.ndarray, values: dict[str, float], name: str = "log") -> Log:
    """What the bench would log for these goals with these values of its servo."""
    plant = BenchSimulator(bench, [servo_log(goal)], tuple(values), where=Where(1))
    position = plant.simulate(np.array([list(values.values())]))["angle"][0, 0, :, 0]
    return servo_log(goal, position, name)


def swings(seconds: float, amplitude: float, rad_s: float) -> np.ndarray:
    time_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    return amplitude * np.sin(rad_s * time_s) * np.minimum(time_s, 1)
