"""A planar arm with two joints, simulated from its equations of motion. None of the project's code takes part.

    M(q) a + C(q, v) v + g(q) + friction(v) = motor torque,    gravity along -z, q = 0: the arm hangs

Friction is Coulomb (smoothed with tanh) plus viscous, and sits before the torque sensor, as in a geared joint: the
motor (and its current) feels it, a torque sensor on the link side does not.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GRAVITY_M_S2 = 9.81
RATE_HZ, SUBSTEPS = 1000, 4
GOAL_DELAY_S = 0.003
Controller = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
"""(time, position, velocity) -> motor torque of both joints, in N·m at the joint."""


@dataclass(frozen=True)
class Arm:
    """Links are uniform rods. armature_kgm2: rotor inertia at the joint, of each of the two motors."""

    masses_kg: tuple[float, float] = (2.2, 1.3)
    lengths_m: tuple[float, float] = (0.32, 0.28)
    armature_kgm2: tuple[float, float] = (0.06, 0.03)
    coulomb_nm: tuple[float, float] = (0.45, 0.25)
    viscous_nms_rad: tuple[float, float] = (0.35, 0.2)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        (m1, m2), (l1, l2) = self.masses_kg, self.lengths_m
        c2 = np.cos(q[1])
        m22 = m2 * l2**2 / 3
        m12 = m22 + m2 * l1 * l2 * c2 / 2
        m11 = m1 * l1**2 / 3 + m2 * l1**2 + m22 + m2 * l1 * l2 * c2
        return np.array([[m11, m12], [m12, m22]])

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Coriolis, centrifugal and gravity torques."""
        (m1, m2), (l1, l2) = self.masses_kg, self.lengths_m
        h = m2 * l1 * l2 * np.sin(q[1]) / 2
        s1, s12 = np.sin(q[0]), np.sin(q[0] + q[1])
        g2 = m2 * GRAVITY_M_S2 * l2 / 2 * s12
        g1 = (m1 * l1 / 2 + m2 * l1) * GRAVITY_M_S2 * s1 + g2
        return np.array([-h * (2 * v[0] * v[1] + v[1] ** 2) + g1, h * v[0] ** 2 + g2])

    def friction(self, v: np.ndarray) -> np.ndarray:
        return np.array(self.coulomb_nm) * np.tanh(v / 0.005) + np.array(self.viscous_nms_rad) * v

    def acceleration(self, q: np.ndarray, v: np.ndarray, torque: np.ndarray) -> np.ndarray:
        whole = self.mass_matrix(q) + np.diag(self.armature_kgm2)
        return np.linalg.solve(whole, torque - self.bias(q, v) - self.friction(v))


@dataclass(frozen=True)
class Motion:
    """(rows, 2) arrays of one recording: what the motors did, and what a sensor on the link side would measure."""

    time_s: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    motor_nm: np.ndarray
    link_nm: np.ndarray


def simulate(arm: Arm, controller: Controller, start: np.ndarray, *, seconds: float, held: bool = False) -> Motion:
    """Semi-implicit Euler and the controller at 4 kHz, logged at 1 kHz. held: the controller runs at 1 kHz as well."""
    q, v, torque = start.astype(float).copy(), np.zeros(2), np.zeros(2)
    step_s = 1 / RATE_HZ / SUBSTEPS
    rows = []
    for step in range(int(seconds * RATE_HZ * SUBSTEPS)):
        time_s = step * step_s
        if step % SUBSTEPS == 0 or not held:
            torque = controller(time_s, q, v)
        a = arm.acceleration(q, v, torque)
        if step % SUBSTEPS == 0:
            rows.append((time_s, q.copy(), v.copy(), torque, arm.mass_matrix(q) @ a + arm.bias(q, v)))
        v = v + step_s * a
        q = q + step_s * v
    time_s, position, velocity, motor, link = (np.array(column) for column in zip(*rows, strict=True))
    return Motion(time_s, position, velocity, motor, link)


def servo(goal: Callable[[float], np.ndarray], stiffness: np.ndarray, braking: np.ndarray) -> Controller:
    """A position loop inside the drive. Goals are sent at 1 kHz and act `GOAL_DELAY_S` later."""

    def controller(time_s: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        sent = max(np.floor((time_s - GOAL_DELAY_S) * RATE_HZ + 1e-9) / RATE_HZ, 0.0)
        return stiffness * (goal(sent) - q) - braking * v

    return controller


def mjcf(arm: Arm) -> str:
    """The same links as a MuJoCo model, without motors and friction."""
    (m1, m2), (l1, l2) = arm.masses_kg, arm.lengths_m

    def inertial(mass: float, length: float) -> str:
        across = mass * length**2 / 12
        return f'<inertial pos="0 0 {-length / 2}" mass="{mass}" diaginertia="{across} {across} 1e-6"/>'

    return f"""<mujoco model="two links">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 -1 0"/>
      {inertial(m1, l1)}
      <body name="lower" pos="0 0 {-l1}">
        <joint name="elbow" axis="0 -1 0"/>
        {inertial(m2, l2)}
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def write_csv(path: Path, columns: dict[str, np.ndarray], *, delimiter: str = ",") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_json(path: Path, columns: dict[str, np.ndarray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
    path.write_text(json.dumps({"entries": rows}))
