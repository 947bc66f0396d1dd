"""Inertia and load of each driven joint along the logged motion, for the decoupled simulation (decoupled.py)."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields

import mujoco
import numpy as np
from mujoco.batch import Batch

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.slots import index_of
from twinloop.calibrate.track import Track

SMOOTHING_FRAMES = 7
CHUNK = 256


@dataclass(frozen=True)
class JointLoads:
    """Inertia, gravity and coupling at each driven joint of one log. All arrays are (frames, joints).

    Attributes:
        inertia_kgm2: moment of inertia about the joint, without the armature.
        amplitude_nm, phase_rad: gravity torque is amplitude · sin(position + phase). That is exact for a hinge: the
            gravity torque of a rigid body about an axis is a sinusoid of the angle about that axis.
        coupling_nm: Coriolis torque, and the torque from the acceleration of the other joints.
    """

    inertia_kgm2: np.ndarray
    amplitude_nm: np.ndarray
    phase_rad: np.ndarray
    coupling_nm: np.ndarray

    @classmethod
    def names(cls) -> list[str]:
        return [field.name for field in fields(cls)]


def can_decouple(bench: Bench, names: tuple[str, ...]) -> bool:
    """Whether each joint can be simulated alone: every degree of freedom (but those of `bench.aside`) is a driven and
    measured hinge, nothing touches anything, gravity is not or fully compensated, and only parameters of the drive are
    fitted."""
    model, drive = bench.model, bench.drive
    if drive is None or model.njnt != len(drive.joints) + len(bench.aside):
        return False
    if (model.neq or model.ntendon) and not bench.aside:
        return False
    measured = {channel.joint for channel in bench.compared if channel.of == "position"}
    joints = [model.joint(name).id for name in drive.joints]
    hinges = bool((model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_HINGE).all())
    touching = bool((model.geom_contype[:, None] & model.geom_conaffinity[None, :]).any()) or model.npair > 0
    contacts = touching and not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
    passive = bool(model.jnt_stiffness[joints].any()) or compensation(bench) is None
    own = all(name in bench.variables and name not in bench.places for name in names)
    compared = all(channel.of in ("position", "velocity") for channel in bench.compared)
    # A commanded torque has no goal that the joint follows.
    compared = compared and all(channel.of == "position" for channel in bench.commanded)
    return compared and set(drive.joints) <= measured and hinges and own and not contacts and not passive


def compensation(bench: Bench) -> float | None:
    """Share of gravity that is compensated: 0 or 1; None if it differs between the bodies that driven joints carry."""
    assert bench.drive is not None
    model = bench.model
    first = min(int(model.jnt_bodyid[model.joint(name).id]) for name in bench.drive.joints)
    shares = set(model.body_gravcomp[first:][model.body_mass[first:] > 0])
    return float(next(iter(shares))) if len(shares) == 1 and shares <= {0.0, 1.0} else None


def joint_loads(bench: Bench, tracks: Sequence[Track]) -> list[JointLoads]:
    """The loads along the measured positions of each log."""
    assert bench.drive is not None
    models = [log_model(bench, track) for track in tracks]
    batches: dict[tuple[float, ...], Batch] = {}
    loads = []
    for track, model in zip(tracks, models, strict=True):
        key = tuple(track.log.constants.get(name, np.nan) for name in bench.constants)
        if key not in batches:
            # Logs with the same constants share a batch: making one costs more than using it.
            batches[key] = Batch(model, CHUNK, 1, persistent=True)
        loads.append(_loads(bench, track, model, batches[key]))
    return loads


def log_model(bench: Bench, track: Track) -> mujoco.MjModel:
    """The model with the constants of one log."""
    model = copy.copy(bench.model)
    for constant, places in bench.constants.items():
        for place in places if constant in track.log.constants else ():
            value, index = place.scale * track.log.constants[constant], index_of(model, place)
            field = getattr(model, place.field)
            if place.field == "body_mass":
                model.body_inertia[index[0]] *= value / field[index]
            field[index] = value
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _loads(bench: Bench, track: Track, model: mujoco.MjModel, batch: Batch) -> JointLoads:
    assert bench.drive is not None
    joints = np.array([model.joint(name).id for name in bench.drive.joints])
    dofs, bodies = model.jnt_dofadr[joints], model.jnt_bodyid[joints]
    position, velocity, acceleration = _motion(bench, track, model)
    qpos, qvel, bias = batch.bind("qpos"), batch.bind("qvel"), batch.bind("qfrc_bias")
    mass, axis, anchor, com = (batch.bind(name) for name in ("M", "xaxis", "xanchor", "subtree_com"))
    weight = model.body_subtreemass[bodies][:, None] * np.asarray(model.opt.gravity)
    inertia, static, slope, coupling = (np.zeros((len(position), len(joints))) for _ in range(4))
    for first in range(0, len(position), CHUNK):
        rows = np.minimum(np.arange(first, first + CHUNK), len(position) - 1)
        qpos[:], qvel[:] = position[rows], 0
        batch.forward(stage=mujoco.mjtStage.mjSTAGE_VEL.value)
        dense = _dense(model, mass)
        inertia[rows] = (np.diagonal(dense, axis1=1, axis2=2) - model.dof_armature)[:, dofs]
        static[rows] = bias[:, dofs]
        turned = np.cross(axis[:, joints], com[:, bodies] - anchor[:, joints])
        slope[rows] = -(axis[:, joints] * np.cross(turned, weight)).sum(axis=-1)
        if len(joints) > 1:
            dense[:, np.arange(model.nv), np.arange(model.nv)] = 0
            qvel[:] = velocity[rows]
            batch.forward(stage=mujoco.mjtStage.mjSTAGE_VEL.value)
            coupling[rows] = bias[:, dofs] + np.einsum("nij,nj->ni", dense, acceleration[rows])[:, dofs] - static[rows]
    phase = np.arctan2(static, slope) - position[:, model.jnt_qposadr[joints]]
    return JointLoads(inertia, np.hypot(static, slope), phase, coupling)


def _motion(bench: Bench, track: Track, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(frames, dofs) position, velocity and acceleration as measured, smoothed by local parabolas."""
    from scipy.signal import savgol_filter

    position = np.repeat(model.qpos0[None], track.frames, axis=0)
    velocity, acceleration = np.zeros((track.frames, model.nv)), np.zeros((track.frames, model.nv))
    for channel in bench.compared:
        if channel.of != "position":
            continue
        rows = _without_gaps(track.measured[channel.name][:, 0])
        joint, dof = model.joint(channel.joint), int(model.joint(channel.joint).dofadr[0])
        position[:, int(joint.qposadr[0])] = rows
        if len(rows) >= SMOOTHING_FRAMES:
            delta = 1 / bench.logs.rate_hz
            velocity[:, dof] = savgol_filter(rows, SMOOTHING_FRAMES, 2, deriv=1, delta=delta)
            acceleration[:, dof] = savgol_filter(rows, SMOOTHING_FRAMES, 2, deriv=2, delta=delta)
    return position, velocity, acceleration


def _without_gaps(rows: np.ndarray) -> np.ndarray:
    known = np.isfinite(rows)
    if known.all():
        return rows
    if not known.any():
        return np.zeros_like(rows)
    return np.interp(np.arange(len(rows)), np.flatnonzero(known), rows[known])


def _dense(model: mujoco.MjModel, mass: np.ndarray) -> np.ndarray:
    """(n, dofs, dofs) symmetric mass matrices of the engine's sparse lower triangles."""
    dense = np.zeros((len(mass), model.nv, model.nv))
    for row in range(model.nv):
        start, count = int(model.M_rowadr[row]), int(model.M_rownnz[row])
        columns = model.M_colind[start : start + count]
        dense[:, row, columns] = mass[:, start : start + count]
        dense[:, columns, row] = mass[:, start : start + count]
    return dense
