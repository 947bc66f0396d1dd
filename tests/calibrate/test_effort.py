"""Torque and current as measured channels and as commands: an arm simulated from its own equations is identified."""

from pathlib import Path

import numpy as np
import pytest

from tests.calibrate import two_link
from tests.calibrate.two_link import Arm, Motion
from twinloop.calibrate.bench import Bench, at_logged_rate, load_bench, logs_of
from twinloop.calibrate.check import check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.replay import replay
from twinloop.calibrate.sweep import Where

ARM = Arm()
STIFFNESS, BRAKING = np.array([400.0, 200.0]), np.array([12.0, 6.0])
JOINTS = ("shoulder", "elbow")
SERVO = """
twin: {mjcf: arm.xml, timestep_ms: 0.5}
logs: {format: FORMAT, files: "*.FORMAT", time: t}
measured:
  q1: {joint: shoulder, unit: rad}
  q2: {joint: elbow, unit: rad}
  v1: {joint: shoulder, of: velocity, compared: false}
  v2: {joint: elbow, of: velocity, compared: false}
  e1: {joint: shoulder, EFFORT}
  e2: {joint: elbow, EFFORT}
commanded:
  g1: {joint: shoulder}
  g2: {joint: elbow}
drive:
  model: position_servo
  joints: [shoulder, elbow]
  parameters:
    shoulder: {stiffness_nm_rad: 400, braking_nms_rad: 12}
    elbow: {stiffness_nm_rad: 200, braking_nms_rad: 6}
    torque_limit_nm: 300
    armature_kgm2: {value: 0.02, low: 0.001, high: 0.5}
"""
FORCED = """
twin: {mjcf: arm.xml, timestep_ms: 1}
logs: {format: csv, files: "*.csv", time: t, rate_hz: RATE}
measured:
  q1: {joint: shoulder, unit: rad}
  q2: {joint: elbow, unit: rad}
  v1: {joint: shoulder, of: velocity, compared: false}
  v2: {joint: elbow, of: velocity, compared: false}
commanded:
  e1: {joint: shoulder, EFFORT}
  e2: {joint: elbow, EFFORT}
drive:
  model: torque_drive
  joints: [shoulder, elbow]
  parameters: {armature_kgm2: {value: 0.02, low: 0.001, high: 0.5}}
"""


def wave(phase: float):
    def goal(time_s: float) -> np.ndarray:
        rise = min(time_s / 0.4, 1.0)
        first = 0.6 * np.sin(2.6 * time_s + phase) + 0.3 * np.sin(6.1 * time_s)
        second = 0.7 * np.sin(3.7 * time_s - phase) + 0.25 * np.sin(7.9 * time_s + 1)
        return rise * np.array([first, second]) + np.array([0.7, 0.5])

    return goal


def recorded(phase: float, seconds: float) -> tuple[Motion, np.ndarray]:
    """A motion under stiff position control, and its goals."""
    goal = wave(phase)
    motion = two_link.simulate(ARM, two_link.servo(goal, STIFFNESS, BRAKING), goal(0.0), seconds=seconds)
    return motion, np.array([goal(time_s) for time_s in motion.time_s])


def columns_of(motion: Motion, rng: np.random.Generator, **more: np.ndarray) -> dict[str, np.ndarray]:
    noisy = motion.position + rng.normal(0, 1e-4, motion.position.shape)
    return {
        "t": motion.time_s, "q1": noisy[:, 0], "q2": noisy[:, 1], "v1": motion.velocity[:, 0],
        "v2": motion.velocity[:, 1], **more,
    }  # fmt: skip


def bench_of(folder: Path, text: str) -> Bench:
    (folder / "arm.xml").write_text(two_link.mjcf(ARM))
    (folder / "bench.yaml").write_text(text)
    return load_bench(folder / "bench.yaml")


def fitted(bench: Bench, folder: Path, names: tuple[str, ...]):
    logs = logs_of(bench, folder)
    bench = at_logged_rate(bench, logs)
    checked = check(bench, logs)
    checked.refuse()
    return bench, checked, calibrate(bench, checked, names, seed=0, where=Where(1)).patch


FRICTION = ("coulomb_nm", "viscous_nms_rad", "armature_kgm2")


def truths() -> dict[str, float]:
    return {f"{joint}.{name}": getattr(ARM, name)[place] for place, joint in enumerate(JOINTS) for name in FRICTION}


def write_servo_logs(folder: Path, effort: str, rng: np.random.Generator, *, factor: np.ndarray, noise: float) -> None:
    """Two runs under position control. effort: `motor_nm` or `link_nm`; factor: from N·m to what is logged."""
    for number, phase in enumerate((0.0, 2.0)):
        motion, goals = recorded(phase, 1.2)
        torque = getattr(motion, effort)
        logged = (torque + rng.normal(0, noise, torque.shape)) * factor
        columns = columns_of(motion, rng, g1=goals[:, 0], g2=goals[:, 1], e1=logged[:, 0], e2=logged[:, 1])
        two_link.write_csv(folder / f"run{number}.csv", columns, delimiter=";")


@pytest.mark.parametrize("side", ["motor", "link"])
def test_the_twin_of_the_true_arm_has_its_torques(tmp_path: Path, side: str):
    write_servo_logs(tmp_path / "logs", f"{side}_nm", np.random.default_rng(0), factor=np.ones(2), noise=0.05)
    text = SERVO.replace("FORMAT", "csv").replace("EFFORT", f"of: torque, unit: Nm, at: {side}")
    bench = bench_of(tmp_path, text)
    logs = logs_of(bench, tmp_path / "logs")
    bench = at_logged_rate(bench, logs)
    assert bench.logs.rate_hz == 1000
    errors = replay(bench, logs, truths(), where=Where(1)).errors
    print(side, errors)
    assert errors["e1"].unit == "Nm"
    assert errors["e1"].rmse < 0.15
    assert errors["e2"].rmse < 0.15
