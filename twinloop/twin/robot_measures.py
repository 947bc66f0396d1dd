"""Quantities of a user's robot that are measured on its model, so that the mapping need not give them.

They are measured on the compiled model of the robot alone: where the gripper settles at both ends of its control range,
the distance between its finger pads there, the reach of the tool, and the maximum speed of the joints.
"""

import copy
from dataclasses import dataclass

import mujoco
import numpy as np

SETTLING_S = 5.0
STEPS_PER_CHECK = 100
SETTLED = 1e-5  # metres or radians between two checks
FROZEN_KGM2 = 1e6
REACH_SAMPLES = 4096
FARTHEST_M = 2.0
USUAL_VELOCITY_RAD_S, MAX_VELOCITY_RAD_S = float(np.pi), float(2 * np.pi)
"""`USUAL_VELOCITY_RAD_S` is the limit of a joint whose model implies none, or one above `MAX_VELOCITY_RAD_S`."""


@dataclass(frozen=True)
class GripperEnd:
    """Where a gripper settles under a constant control.

    Attributes:
        control: one end of the actuator's control range.
        positions: position of each gripper joint, metres or radians.
        gap_m: distance between the two finger pads; negative where they overlap.
    """

    control: float
    positions: tuple[float, ...]
    gap_m: float

    @property
    def opening(self) -> float:
        return sum(self.positions)


def gripper_ends(
    model: mujoco.MjModel,
    *,
    joints: list[int],
    actuator: int,
    pads: tuple[int, int],
    arm_joints: list[int],
    home_rad: tuple[float, ...],
) -> tuple[GripperEnd, GripperEnd]:
    """Simulate the gripper at the low and the high end of its control range, without gravity and contacts.

    Args:
        joints: the gripper's joints.
        pads: one geom of each finger.
        arm_joints: held at `home_rad`.
    """
    low, high = model.actuator_ctrlrange[actuator]
    ends = []
    for control in (float(low), float(high)):
        data = settled(model, actuator, control, joints=joints, arm_joints=arm_joints, home_rad=home_rad)
        gap_m = mujoco.mj_geomDistance(model, data, *pads, FARTHEST_M, None)
        positions = data.qpos[model.jnt_qposadr[joints]]
        ends.append(GripperEnd(control, tuple(map(float, positions)), float(gap_m)))
    return ends[0], ends[1]


def settled(
    model: mujoco.MjModel,
    actuator: int,
    control: float,
    *,
    joints: list[int],
    arm_joints: list[int],
    home_rad: tuple[float, ...],
) -> mujoco.MjData:
    """The state in which the gripper settles under a constant control, without gravity and contacts."""
    free = copy.deepcopy(model)
    off = mujoco.mjtDisableBit
    free.opt.disableflags |= off.mjDSBL_CONTACT.value | off.mjDSBL_GRAVITY.value
    free.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    free.dof_armature[free.jnt_dofadr[arm_joints]] = FROZEN_KGM2
    data = mujoco.MjData(free)
    data.qpos[free.jnt_qposadr[arm_joints]] = home_rad
    data.ctrl[actuator] = control
    _settle(free, data, free.jnt_qposadr[joints])
    mujoco.mj_kinematics(free, data)
    mujoco.mj_comPos(free, data)
    return data


def _settle(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> None:
    before = data.qpos[qpos].copy()
    for _ in range(round(SETTLING_S / model.opt.timestep / STEPS_PER_CHECK)):
        mujoco.mj_step(model, data, STEPS_PER_CHECK)
        if np.abs(data.qpos[qpos] - before).max() < SETTLED:
            break
        before = data.qpos[qpos].copy()


def pads(model: mujoco.MjModel, fingers: tuple[int, int], point: np.ndarray, data: mujoco.MjData) -> tuple[int, ...]:
    """One geom of each finger body or its descendants: the geom with contacts that is nearest to `point`."""
    touches = (model.geom_contype > 0) | (model.geom_conaffinity > 0)
    geom_ids = []
    for finger in fingers:
        geoms = np.flatnonzero(touches & np.isin(model.geom_bodyid, _subtree(model, finger, without=fingers)))
        if len(geoms):
            geom_ids.append(int(geoms[np.linalg.norm(data.geom_xpos[geoms] - point, axis=1).argmin()]))
    return tuple(geom_ids)


def _subtree(model: mujoco.MjModel, body: int, *, without: tuple[int, int]) -> list[int]:
    """The body and its descendants, without those of the other finger."""
    bodies = [body]
    for child in range(body + 1, model.nbody):
        if model.body_parentid[child] in bodies and child not in without:
            bodies.append(child)
    return bodies


def reach_m(model: mujoco.MjModel, arm_joints: list[int], site: int) -> float:
    """The largest horizontal distance of the tool from the base over configurations drawn from the joint ranges."""
    rng = np.random.default_rng(0)
    data = mujoco.MjData(model)
    limited = model.jnt_limited[arm_joints].astype(bool)[:, None]
    low, high = np.where(limited, model.jnt_range[arm_joints], [-np.pi, np.pi]).T
    farthest = 0.0
    for positions in rng.uniform(low, high, (REACH_SAMPLES, len(arm_joints))):
        data.qpos[model.jnt_qposadr[arm_joints]] = positions
        mujoco.mj_kinematics(model, data)
        farthest = max(farthest, float(np.linalg.norm(data.site_xpos[site, :2])))
    return farthest


def torque_limits_nm(model: mujoco.MjModel, arm_joints: list[int], actuators: list[int]) -> np.ndarray:
    """(joints,) the limit of the drive or of the joint, whichever is smaller; infinite without one."""
    of_drive = np.where(model.actuator_forcelimited[actuators], model.actuator_forcerange[actuators, 1], np.inf)
    of_joint = np.where(model.jnt_actfrclimited[arm_joints], model.jnt_actfrcrange[arm_joints, 1], np.inf)
    return np.minimum(of_drive, of_joint)


def velocity_limits_rad_s(model: mujoco.MjModel, arm_joints: list[int], actuators: list[int]) -> tuple[float, ...]:
    """The no-load speed of each drive: the speed at which the joint's damping takes all of its torque.

    MJCF has no velocity limit. A model whose damping represents the back-EMF of a motor implies this one. A speed above
    `MAX_VELOCITY_RAD_S` means that the damping does not; then the limit is `USUAL_VELOCITY_RAD_S`.
    """
    damping = model.dof_damping[model.jnt_dofadr[arm_joints]]
    with np.errstate(divide="ignore"):
        speeds = torque_limits_nm(model, arm_joints, actuators) / damping
    return tuple(float(speed) for speed in np.where(speeds <= MAX_VELOCITY_RAD_S, speeds, USUAL_VELOCITY_RAD_S))
