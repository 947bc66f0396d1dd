"""Legs from tables: one row per link, with a hinge and a position servo each."""

from dataclasses import dataclass

import mujoco
import numpy as np

Vector = tuple[float, float, float]

TOUCHES = {"contype": 1, "conaffinity": 0}
"""Parts of a robot touch the ground and not each other."""
SHOWN = {"contype": 0, "conaffinity": 0}
DARK, LIGHT = (0.2, 0.21, 0.23, 1.0), (0.75, 0.77, 0.8, 1.0)


@dataclass(frozen=True)
class LegLink:
    """One link of a leg.

    Attributes:
        offset_m, pitch_rad: place of the joint frame in the parent's frame, and its turn about y.
        axis: axis of the joint.
        inertia_kgm2: xx, yy, zz about the centre of mass.
        tip_m: end of the capsule that shows the link; it begins at the joint.
    """

    name: str
    joint: str
    offset_m: Vector
    axis: Vector
    range_rad: tuple[float, float]
    velocity_rad_s: float
    torque_nm: float
    stiffness_nm_rad: float
    damping_nms_rad: float
    motor_inertia_kgm2: float
    mass_kg: float
    com_m: Vector
    inertia_kgm2: Vector
    tip_m: Vector
    pitch_rad: float = 0.0
    radius_m: float = 0.02


def add_leg(spec: mujoco.MjSpec, base: mujoco.MjsBody, links: tuple[LegLink, ...]) -> mujoco.MjsBody:
    """Add the links of a leg in a row. Return the last one."""
    body = base
    for link in links:
        half = link.pitch_rad / 2
        body = body.add_body(name=link.name, pos=link.offset_m, quat=[np.cos(half), 0, np.sin(half), 0])
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = link.mass_kg, link.com_m, link.inertia_kgm2
        body.add_joint(name=link.joint, axis=link.axis, range=link.range_rad, armature=link.motor_inertia_kgm2)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[link.radius_m, 0, 0], fromto=[0, 0, 0, *link.tip_m],
            rgba=LIGHT, mass=0, **SHOWN,
        )  # fmt: skip
        servo = spec.add_actuator(name=link.joint, target=link.joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=link.stiffness_nm_rad, kv=link.damping_nms_rad)
        servo.forcerange = (-link.torque_nm, link.torque_nm)
    return body


def add_ball(body: mujoco.MjsBody, name: str, place_m: Vector, radius_m: float) -> None:
    """Add a sphere that touches the ground: a foot, a corner of a sole, or a knee."""
    body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius_m, 0, 0], pos=place_m, rgba=DARK, mass=0, **TOUCHES
    )


def add_base(spec: mujoco.MjSpec, name: str, mass_kg: float, com_m: Vector, inertia_kgm2: Vector) -> mujoco.MjsBody:
    """Add the base with its free joint and its IMU."""
    base = spec.worldbody.add_body(name=name)
    base.explicitinertial = True
    base.mass, base.ipos, base.inertia = mass_kg, com_m, inertia_kgm2
    base.add_freejoint(name="base")
    base.add_site(name="imu", size=[0.01, 0.01, 0.01])
    return base
