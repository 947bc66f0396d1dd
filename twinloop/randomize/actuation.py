"""Rows of the actuation gap: how motors and gears change a command. `simulate/drive.py` is the stage they act in."""

import mujoco
import numpy as np

from twinloop.randomize.hooks import Command, OnCommand, Rows
from twinloop.randomize.parameter import ALL_ROBOTS, DRIVEN, Parameter
from twinloop.randomize.uses import CellTruth, Picture

HINGE = mujoco.mjtJoint.mjJNT_HINGE.value
DRIFT_MEMORY_S = 0.5
RIPPLES_PER_TURN = 16
HEATING_S = 20.0  # time at full torque until a motor is hot
HURRIED = Picture(
    "shaking", given={"command_loss_share": 0.05},
    why="A strong arm shows no effect; here the arm catches up after lost commands.",
)  # fmt: skip


def _motor_strength(rows: Rows, ids: np.ndarray, scale: np.ndarray) -> None:
    cells = np.ix_(ids, rows.twin.arm_controls)
    rows["actuator_forcerange"][cells] *= scale[:, None, None]


def _noise(command: Command, noise_mrad: np.ndarray) -> None:
    command.shift_mrad(noise_mrad[:, None] * command.noise[:, :, 0])


def _drift(command: Command, drift_mrad: np.ndarray) -> None:
    """A random process with an exponential memory and a deviation of 1."""
    keep = np.exp(-command.twin.control_period_s / DRIFT_MEMORY_S)
    white = command.noise[:, :, 1]
    drift = keep * command.memory("drift", white) + np.sqrt(1 - keep**2) * white
    command.remember("drift", drift)
    command.shift_mrad(drift_mrad[:, None] * drift)


def _ripple(command: Command, ripple_mrad: np.ndarray) -> None:
    command.shift_mrad(ripple_mrad[:, None] * np.sin(RIPPLES_PER_TURN * command.rad + command.phase_rad))


def _compliance(command: Command, compliance_mrad_nm: np.ndarray) -> None:
    """Gears give way to their torque. Slides of a mobile base, whose effort is a force, have no such gear."""
    twin = command.twin
    hinges = twin.model.jnt_type[twin.arm_joints] == HINGE
    command.shift_mrad(-(compliance_mrad_nm[:, None] * command.effort_nm * hinges))


def _backlash(command: Command, backlash_mrad: np.ndarray) -> None:
    half = 0.5e-3 * backlash_mrad[:, None]
    home = np.broadcast_to(command.twin.robot.home_rad, command.rad.shape)
    command.rad = np.clip(command.memory("played", home), command.rad - half, command.rad + half)
    command.remember("played", command.rad)


def _heat_fade(command: Command, fade_share: np.ndarray) -> None:
    """Reduce the motors' torque limits with their heat, which grows with the square of the torque."""
    twin, limits = command.twin, command.fields["actuator_forcerange"]
    arm = twin.arm_controls
    strength = command.memory("strength", limits[:, arm])
    load = np.square(command.effort_nm / np.array(twin.robot.torque_limits_nm))
    heat = np.minimum(command.memory("heat", command.warmth) + load * twin.control_period_s / HEATING_S, 1)
    command.remember("strength", strength)
    command.remember("heat", heat)
    limits[:, arm] = strength * (1 - fade_share[:, None] * heat)[:, :, None]


ACTUATION = (
    Parameter("motor_strength_scale", "actuation", "actuation", "×", "largest torque of every arm joint",
              1.0, (0.7, 1.0),
              "a 7.4 V servo has 0.81 of its speed at 6 V (ST3215, DFRobot SER0069), and of its torque about as much; "
              "batteries sag further (estimate)", (0.05, 3.0), apply=_motor_strength,
              truth=CellTruth(0.5), picture=HURRIED, robots=ALL_ROBOTS),
    Parameter("control_noise_mrad", "actuation", "actuation", "mrad", "white noise on every joint's target",
              0.0, (0.0, 2.0), "a count of an STS3215 is 0.088°, 1.53 mrad (SO-ARM100, issue 134)", (0.0, 200.0),
              on_command=OnCommand("setpoint", _noise), truth=CellTruth(4.0), picture=Picture("shaking"),
              robots=DRIVEN),
    Parameter("control_drift_mrad", "actuation", "actuation", "mrad", "slow noise on every joint's target",
              0.0, (0.0, 5.0),
              "an STS3215 comes back to a place within ±0.3 mm at 10 cm, 3 mrad (SO-ARM100, issue 134); worn ones more "
              "(estimate)", (0.0, 200.0),
              on_command=OnCommand("setpoint", _drift), robots=DRIVEN),
    Parameter("backlash_mrad", "actuation", "actuation", "mrad", "play of every gear: what a reversal has to cross",
              0.0, (0.0, 10.0),
              "Feetech's data sheet of the STS3215 allows 0.5°, 8.7 mrad; Robonine measured 0.87°, 15 mrad ('Testing "
              "of Feetech STS3215 Servomotor'), so widen it for such servos",
              (0.0, 200.0), on_command=OnCommand("play", _backlash), truth=CellTruth(15.0), robots=DRIVEN),
    Parameter("compliance_mrad_nm", "actuation", "actuation", "mrad/(N·m)", "give of every joint under torque",
              0.0, (0.0, 0.3),
              "Harmonic Drive's CSF/CSG catalogue, table 42: 3,400 N·m/rad at low torque for size 14 and ratio 50 is "
              "0.29 mrad/(N·m); size 8 has 2.3", (0.0, 50.0),
              on_command=OnCommand("joint", _compliance), robots=DRIVEN),
    Parameter("gear_ripple_mrad", "actuation", "actuation", "mrad", "error of every gear that repeats 16 times a turn",
              0.0, (0.0, 1.0),
              "half of the 1 to 2 arcmin that Harmonic Drive's CSF/CSG catalogue states for positioning, table 40, is "
              "0.15 to 0.29 mrad; cheaper gears more (estimate)", (0.0, 100.0),
              on_command=OnCommand("gear", _ripple), picture=Picture("wrist"), robots=DRIVEN),
    Parameter("heat_fade_share", "actuation", "actuation", "1", "share of its torque that a joint loses when it is hot",
              0.0, (0.0, 0.3), "copper's resistance grows 0.39 % a kelvin: 24 % less current when 80 K warmer",
              (0.0, 0.95), on_command=OnCommand("motor", _heat_fade), picture=HURRIED, robots=DRIVEN),
)  # fmt: skip
