"""UFACTORY xArm 7 with the xArm gripper, from published figures, in primitive geometry.

Sources
- Kinematics, masses, centres of mass, inertias, joint limits and torques, gripper linkage: xArm-Developer/xarm_ros,
  xarm_description (kinematics/default/xarm7, link_inertial/xarm7_type7_HT_BR2, urdf/xarm7, urdf/gripper), BSD-3-Clause.
- 180 deg/s, reach 700 mm, payload 3.5 kg: xArm user manual, "Technical Specifications".
- Reflected motor inertia: 0.1 kg m² a joint, as in MuJoCo Menagerie's ufactory_xarm7; the maker gives none.
- Stiffness and damping of the servos: chosen for a lag of 50 ms; the maker gives none.
- Gripper: `grippers.add_xarm_gripper`.
"""

import mujoco
import numpy as np

from twinloop.twin.robot import Robot
from twinloop.twin.robot_parts.grippers import GRIPPERS, XARM_GRIPPER, add_xarm_gripper
from twinloop.twin.robot_parts.links import SHOWN, Capsule, Link, add_arm

WHITE, GREY, DARK = (0.92, 0.92, 0.93, 1.0), (0.6, 0.61, 0.63, 1.0), (0.2, 0.21, 0.22, 1.0)
TURN = 2 * np.pi
LARGE = {
    "velocity_rad_s": np.pi,
    "torque_nm": 50.0,
    "stiffness_nm_rad": 1500.0,
    "damping_nms_rad": 75.0,
    "motor_inertia_kgm2": 0.1,
}
MIDDLE = {
    "velocity_rad_s": np.pi,
    "torque_nm": 30.0,
    "stiffness_nm_rad": 1000.0,
    "damping_nms_rad": 50.0,
    "motor_inertia_kgm2": 0.1,
}
SMALL = {
    "velocity_rad_s": np.pi,
    "torque_nm": 20.0,
    "stiffness_nm_rad": 800.0,
    "damping_nms_rad": 40.0,
    "motor_inertia_kgm2": 0.1,
}

LINKS = (
    Link("link1", "joint1", (0, 0, 0.267), 0, (-TURN, TURN), **LARGE, mass_kg=2.382, com_m=(-0.0002, 0.02905, -0.01233),
         inertia=(0.0056905, 0.0049566, 0.003316654, -1.579e-5, 5.125e-6, -0.000873378),
         capsules=(Capsule(0.055, (0, 0, -0.12), (0, 0, 0), WHITE), Capsule(0.052, (0, 0.04, 0), (0, 0.05, 0), GREY))),
    Link("link2", "joint2", (0, 0, 0), -90, (-2.059, 2.0944), **LARGE, mass_kg=1.869,
         com_m=(0.00022, -0.12856, 0.01735),
         inertia=(0.0095989, 0.00382472, 0.007565669, 1.541e-6, 5.56e-6, -0.00317156),
         capsules=(Capsule(0.05, (0, 0, 0.04), (0, -0.06, 0.01), WHITE), Capsule(0.048, (0, -0.06, 0), (0, -0.22, 0),
                   WHITE))),
    Link("link3", "joint3", (0, -0.293, 0), 90, (-TURN, TURN), **MIDDLE, mass_kg=1.6383,
         com_m=(0.0466, -0.02463, -0.00768), inertia=(0.00310955, 0.00264483, 0.0026624, 0.00030837, -0.00058453,
         0.000338893),
         capsules=(Capsule(0.048, (0, 0, -0.04), (0.02, 0, 0), WHITE),
                   Capsule(0.044, (0.0525, -0.05, 0), (0.0525, 0, 0), GREY))),
    Link("link4", "joint4", (0.0525, 0, 0), 90, (-0.19198, 3.927), **MIDDLE, mass_kg=1.7269,
         com_m=(0.07047, -0.11575, 0.012), inertia=(0.005889, 0.00359703, 0.00543244, 0.00137112, 0.00088143,
         -0.001762155),
         capsules=(Capsule(0.045, (0, 0, 0.03), (0.05, -0.06, 0.01), WHITE),
                   Capsule(0.042, (0.0775, -0.1, 0), (0.0775, -0.22, 0), WHITE))),
    Link("link5", "joint5", (0.0775, -0.3425, 0), 90, (-TURN, TURN), **MIDDLE, mass_kg=1.3203,
         com_m=(-0.00032, 0.01604, -0.026),
         inertia=(0.00534665, 0.0049779, 0.0013624, 1.5117e-5, -3.69e-7, -0.00022132),
         capsules=(Capsule(0.042, (0, 0, -0.1), (0, 0, 0), WHITE), Capsule(0.04, (0, 0.02, 0), (0, 0.04, 0), GREY))),
    Link("link6", "joint6", (0, 0, 0), 90, (-1.69297, np.pi), **SMALL, mass_kg=1.325, com_m=(0.06469, 0.03278, 0.02141),
         inertia=(0.0014745, 0.0019037, 0.0023652, -0.000488, 0.0002953, 0.00014749),
         capsules=(Capsule(0.04, (0, 0, 0.02), (0.06, 0, 0), WHITE), Capsule(0.04, (0.076, 0, 0), (0.076, 0.05, 0),
                   WHITE, touches=True))),
    Link("link7", "joint7", (0.076, 0.097, 0), -90, (-TURN, TURN), **SMALL, mass_kg=0.17, com_m=(0, -0.00677, -0.01098),
         inertia=(9.3e-5, 5.87e-5, 0.000132, 0, 0, -3.6e-6),
         capsules=(Capsule(0.035, (0, 0, -0.036), (0, 0, -0.035), GREY, touches=True),)),
)  # fmt: skip


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    base = spec.worldbody.add_body(name="base")
    base.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.063, 0.06, 0], pos=[0, 0, 0.06], rgba=WHITE, **SHOWN)
    add_xarm_gripper(spec, add_arm(spec, base, LINKS))
    return spec


XARM7 = Robot(
    name="xarm7",
    build=build,
    arm_joints=tuple(link.joint for link in LINKS),
    arm_actuators=tuple(link.joint for link in LINKS),
    gripper=XARM_GRIPPER.record,
    closed_tips_m=GRIPPERS["xarm_gripper"].closed_tips_m,
    tool_site="tool",
    home_rad=(0.0, -0.1321, 0.0, 1.275, 0.0, 1.4071, 0.0),
    velocity_limits_rad_s=tuple(link.velocity_rad_s for link in LINKS),
    torque_limits_nm=tuple(link.torque_nm for link in LINKS),
    reach_m=0.7,
    payload_kg=3.5,
    source="xArm user manual and xArm gripper manual; xarm_ros, xarm_description",
)
