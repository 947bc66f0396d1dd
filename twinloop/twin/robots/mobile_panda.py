"""A Franka Panda on an omnidirectional base: a mobile manipulator, in primitive geometry.

The base is three position-controlled joints in a row: two slides and a hinge, as in MuJoCo Menagerie's model of the
TidyBot. Wheels and their slip are not modelled. Its platform drives below the tables, and a column carries the arm.

Sources
- Arm and hand: `franka_panda.py`.
- Base: Clearpath Ridgeback data sheet: 960 x 793 x 311 mm, 135 kg, 1.1 m/s, payload 100 kg.
- Force: what four wheels with a friction of 0.6 can transmit. Stiffness and the turn rate are estimates.
"""

from dataclasses import replace

import mujoco

from twinloop.twin.area import Area
from twinloop.twin.robot_parts.links import COLLIDES, COMMAND_FILTER_S, SHOWN
from twinloop.twin.robots.franka_panda import FRANKA_PANDA, add_panda

GREY, DARK = (0.62, 0.63, 0.65, 1.0), (0.2, 0.21, 0.23, 1.0)
FLOOR_M = -0.75
PLATFORM_HALF_M, PLATFORM_KG = (0.48, 0.3965, 0.1555), 135.0
COLUMN_RADIUS_M, COLUMN_KG = 0.07, 15.0
MOVED_KG = PLATFORM_KG + COLUMN_KG + 20.0
STIFFNESS_N_M, DAMPING_NS_M, FORCE_N = 60_000.0, 6_000.0, 1000.0
TURN_STIFFNESS_NM_RAD, TURN_DAMPING_NMS_RAD, TORQUE_NM = 8_000.0, 800.0, 400.0
TRAVEL_M = ((-0.8, 0.0), (-1.0, 3.0))
"""How far the base may go forward and to the left of its start. The table is right in front of the column."""
TURN_RAD = (-3.1, 3.1)
MOUNT_M = (-0.19, 0.0, 0.0)
JOINTS = ("base_x", "base_y", "base_yaw")


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    body = spec.worldbody
    for name, axis, span in zip(JOINTS[:2], ((1, 0, 0), (0, 1, 0)), TRAVEL_M, strict=True):
        body = body.add_body(name=f"{name}_carriage")
        body.explicitinertial = True
        body.mass, body.inertia = 0.01, (1e-4, 1e-4, 1e-4)
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis, range=span)
        _add_servo(spec, name, span, STIFFNESS_N_M, DAMPING_NS_M, FORCE_N)
    platform = body.add_body(name="platform", gravcomp=1)
    platform.add_joint(name=JOINTS[2], axis=[0, 0, 1], range=TURN_RAD)
    _add_servo(spec, JOINTS[2], TURN_RAD, TURN_STIFFNESS_NM_RAD, TURN_DAMPING_NMS_RAD, TORQUE_NM)
    half = PLATFORM_HALF_M[2]
    platform.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=PLATFORM_HALF_M, pos=[0, 0, FLOOR_M + half], rgba=GREY, mass=PLATFORM_KG,
        **SHOWN,
    )  # fmt: skip
    bottom = FLOOR_M + 2 * half
    platform.add_geom(
        name="column", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[COLUMN_RADIUS_M, -bottom / 2, 0],
        pos=[0, 0, bottom / 2], rgba=DARK, mass=COLUMN_KG, **COLLIDES,
    )  # fmt: skip
    add_panda(spec, platform)
    return spec


def _add_servo(
    spec: mujoco.MjSpec, joint: str, span: tuple[float, float], stiffness: float, damping: float, most: float
) -> None:
    servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=stiffness, kv=damping, timeconst=COMMAND_FILTER_S)
    servo.ctrlrange, servo.forcerange = span, (-most, most)


MOBILE_PANDA = replace(
    FRANKA_PANDA,
    name="mobile_panda",
    build=build,
    arm_joints=(*JOINTS, *FRANKA_PANDA.arm_joints),
    arm_actuators=(*JOINTS, *FRANKA_PANDA.arm_actuators),
    home_rad=(0.0, 0.0, 0.0, *FRANKA_PANDA.home_rad),
    velocity_limits_rad_s=(1.1, 1.1, 1.0, *FRANKA_PANDA.velocity_limits_rad_s),
    torque_limits_nm=(FORCE_N, FORCE_N, TORQUE_NM, *FRANKA_PANDA.torque_limits_nm),
    acceleration_limits_rad_s2=(4.0, 4.0, 4.0, *FRANKA_PANDA.acceleration_limits_rad_s2),
    mount_m=MOUNT_M,
    travels=JOINTS,
    # The table keeps the column away from the places of tasks, so these are nearer. Tasks that travel have their own.
    area=Area(MOUNT_M[:2], nearest_m=0.44, farthest_m=0.68),
    source=f"Clearpath Ridgeback data sheet; {FRANKA_PANDA.source}",
)
