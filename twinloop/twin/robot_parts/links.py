"""Arms from tables: one row per link, with a hinge about z and a position servo each."""

from dataclasses import dataclass

import mujoco
import numpy as np

# Arm geoms collide with the table and objects but not with each other; joint limits keep the links apart.
COLLIDES = {"contype": 1, "conaffinity": 0}
SHOWN = {"contype": 0, "conaffinity": 0}

# Commands arrive 25 times a second, and the robot smooths them before its servos. With unfiltered steps the wrist of a
# Panda saturates at every step and the hand shakes with 3.4 m/s²; with this filter it is 1.4 m/s².
COMMAND_FILTER_S = 0.03


@dataclass(frozen=True)
class Capsule:
    """A visible part of a link, in the joint frame."""

    radius_m: float
    start_m: tuple[float, float, float]
    end_m: tuple[float, float, float]
    rgba: tuple[float, float, float, float]
    touches: bool = False


@dataclass(frozen=True)
class Link:
    """One link: its joint frame, drive, mass and shape.

    `offset_m` and `roll_deg` (about x) place the joint frame in the parent's frame. The joint rotates about z.
    `inertia` is xx, yy, zz, xy, xz, yz about the centre of mass, in the joint frame.
    """

    name: str
    joint: str
    offset_m: tuple[float, float, float]
    roll_deg: float
    range_rad: tuple[float, float]
    velocity_rad_s: float
    torque_nm: float
    stiffness_nm_rad: float
    damping_nms_rad: float
    motor_inertia_kgm2: float
    mass_kg: float
    com_m: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]
    capsules: tuple[Capsule, ...] = ()


def add_arm(spec: mujoco.MjSpec, base: mujoco.MjsBody, links: tuple[Link, ...]) -> mujoco.MjsBody:
    """Add the links in a row, gravity-compensated. Return the last one."""
    body = base
    for link in links:
        body = _add_link(spec, body, link)
    return body


def _add_link(spec: mujoco.MjSpec, parent: mujoco.MjsBody, link: Link) -> mujoco.MjsBody:
    half = np.deg2rad(link.roll_deg) / 2
    body = parent.add_body(name=link.name, pos=link.offset_m, quat=[np.cos(half), np.sin(half), 0, 0], gravcomp=1)
    body.explicitinertial = True
    body.mass, body.ipos, body.fullinertia = link.mass_kg, link.com_m, link.inertia
    body.add_joint(name=link.joint, axis=[0, 0, 1], range=link.range_rad, armature=link.motor_inertia_kgm2)
    for capsule in link.capsules:
        add_capsule(body, capsule)
    servo = spec.add_actuator(name=link.joint, target=link.joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=link.stiffness_nm_rad, kv=link.damping_nms_rad, timeconst=COMMAND_FILTER_S)
    servo.ctrlrange, servo.forcerange = link.range_rad, (-link.torque_nm, link.torque_nm)
    return body


def add_capsule(body: mujoco.MjsBody, capsule: Capsule) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[capsule.radius_m, 0, 0], fromto=[*capsule.start_m, *capsule.end_m],
        rgba=capsule.rgba, mass=0, **(COLLIDES if capsule.touches else SHOWN),
    )  # fmt: skip
