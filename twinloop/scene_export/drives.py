"""Drives: position and velocity servos of joints, from actuators, springs and damping of a model."""

from dataclasses import dataclass, field

import mujoco
import numpy as np

FIXED = mujoco.mjtGain.mjGAIN_FIXED.value
AFFINE, NO_BIAS = mujoco.mjtBias.mjBIAS_AFFINE.value, mujoco.mjtBias.mjBIAS_NONE.value
DIRECT = (mujoco.mjtTrn.mjTRN_JOINT.value, mujoco.mjtTrn.mjTRN_JOINTINPARENT.value)


@dataclass
class JointDrive:
    """The force on one joint: `force` - stiffness q - damping v, in N, m, rad and s.

    Attributes:
        most: largest force of its actuators, in N or Nm; infinite if there is no limit.
        actuators: names of the actuators.
    """

    stiffness: float = 0.0
    damping: float = 0.0
    force: float = 0.0
    most: float = np.inf
    actuators: list[str] = field(default_factory=list)

    def add(self, stiffness: float, damping: float, force: float) -> None:
        self.stiffness += stiffness
        self.damping += damping
        self.force += force

    @property
    def target(self) -> float:
        """Position that a servo with this stiffness holds."""
        return self.force / self.stiffness if self.stiffness else 0.0

    @property
    def target_velocity(self) -> float:
        """Velocity that a servo without stiffness holds."""
        return self.force / self.damping if self.damping and not self.stiffness else 0.0


def drives_of(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[dict[int, JointDrive], list[str]]:
    """Drives by joint, for hinges and slides, and notes about actuators that are not servos of joints."""
    drives: dict[int, JointDrive] = {}
    notes: list[str] = []
    filtered = [model.actuator(index).name for index in np.flatnonzero(model.actuator_actadr >= 0)]
    if filtered:
        notes.append(f"filters of actuators, which are left out: {', '.join(filtered)}")
    for joint in range(model.njnt):
        if model.jnt_type[joint] in (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value):
            dof = model.jnt_dofadr[joint]
            stiffness, damping = float(model.jnt_stiffness[joint]), float(model.dof_damping[dof])
            if stiffness or damping:
                rest = stiffness * float(model.qpos_spring[model.jnt_qposadr[joint]])
                drives.setdefault(joint, JointDrive()).add(stiffness, damping, rest)
    for actuator in range(model.nactuator):
        _add_actuator(model, data, actuator, drives, notes)
    return drives, notes


def _add_actuator(
    model: mujoco.MjModel, data: mujoco.MjData, index: int, drives: dict[int, JointDrive], notes: list[str]
) -> None:
    name = model.actuator(index).name
    bias = int(model.actuator_biastype[index])
    if model.actuator_gaintype[index] != FIXED or bias not in (AFFINE, NO_BIAS):
        notes.append(f"actuator {name}: its force is not linear in position and velocity; it is left out")
        return
    arms = lever_arms(model, index)
    if not arms:
        notes.append(f"actuator {name}: it does not act on joints; it is left out")
        return
    control = float(data.ctrl[model.actuator_ctrladr[index]])
    force = float(model.actuator_gainprm[index, 0]) * control
    kp = kd = 0.0
    if bias == AFFINE:
        force += float(model.actuator_biasprm[index, 0])
        kp, kd = (-float(number) for number in model.actuator_biasprm[index, 1:3])
    if len(arms) > 1:
        notes.append(f"actuator {name}: its tendon is replaced by equal drives of {len(arms)} joints")
    total = sum(arms.values())
    for joint, arm in arms.items():
        drive = drives.setdefault(joint, JointDrive())
        # Coupled joints move together, so each of them carries its share of the tendon's stiffness.
        drive.add(arm * total * kp, arm * total * kd, arm * force)
        drive.actuators.append(name)
        if model.actuator_forcelimited[index]:
            limit = abs(arm) * float(np.abs(model.actuator_forcerange[index]).max())
            drive.most = limit if np.isinf(drive.most) else drive.most + limit
        if model.jnt_actfrclimited[joint]:
            drive.most = min(drive.most, float(np.abs(model.jnt_actfrcrange[joint]).max()))


def lever_arms(model: mujoco.MjModel, actuator: int) -> dict[int, float]:
    """Joint -> force on the joint per force of the actuator, for joints and fixed tendons."""
    kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
    gear = float(model.actuator_gear[model.actuator_outadr[actuator], 0])
    if kind in DIRECT:
        scalar = model.jnt_type[target] in (mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value)
        return {target: gear} if scalar else {}
    if kind == mujoco.mjtTrn.mjTRN_TENDON.value:
        return {joint: gear * coefficient for joint, coefficient in tendon_joints(model, target).items()}
    return {}


def tendon_joints(model: mujoco.MjModel, tendon: int) -> dict[int, float]:
    """Joint -> coefficient of a fixed tendon; empty for a spatial one."""
    first = int(model.tendon_adr[tendon])
    path = range(first, first + int(model.tendon_num[tendon]))
    if any(model.wrap_type[wrap] != mujoco.mjtWrap.mjWRAP_JOINT.value for wrap in path):
        return {}
    return {int(model.wrap_objid[wrap]): float(model.wrap_prm[wrap]) for wrap in path}


@dataclass(frozen=True)
class Mimic:
    """Joint `follower` = multiplier × joint `leader` + offset."""

    follower: int
    leader: int
    multiplier: float
    offset: float


def mimics_of(model: mujoco.MjModel) -> tuple[list[Mimic], list[str]]:
    """Linear couplings of two joints by equalities, and notes about equalities that are something else."""
    mimics, notes = [], []
    for index in range(model.neq):
        name = model.equality(index).name
        if not model.eq_active0[index]:
            notes.append(f"equality {name}: it is not active at the start; it is left out")
            continue
        kind, first, second = int(model.eq_type[index]), int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
        if kind == mujoco.mjtEq.mjEQ_JOINT.value and second >= 0:
            coefficients = model.eq_data[index, :5]
            mimics.append(_mimic(model, first, second, float(coefficients[0]), float(coefficients[1])))
            if coefficients[2:].any():
                notes.append(f"equality {name}: its square and higher terms are left out")
        elif kind == mujoco.mjtEq.mjEQ_TENDON.value and second < 0 and len(tendon_joints(model, first)) == 2:
            # Two joints on a tendon of constant length: c1 q1 + c2 q2 = constant.
            (one, c1), (two, c2) = tendon_joints(model, first).items()
            length = float(model.tendon_length0[first] + model.eq_data[index, 0])
            mimics.append(Mimic(one, two, -c2 / c1, length / c1))
        elif kind not in (mujoco.mjtEq.mjEQ_CONNECT.value, mujoco.mjtEq.mjEQ_WELD.value):
            notes.append(f"equality {name}: no coupling of two joints or bodies; it is left out")
    return mimics, notes


def _mimic(model: mujoco.MjModel, follower: int, leader: int, constant: float, slope: float) -> Mimic:
    """The engine's equality is between displacements from the reference positions."""
    rest, leader_rest = (float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (follower, leader))
    return Mimic(follower, leader, slope, rest + constant - slope * leader_rest)
