"""Universal Robots UR5e with a Robotiq 2F-85 gripper, from published figures, in primitive geometry.

Sources
- Kinematics, masses, centres of mass: Universal Robots, "DH Parameters for calculations of kinematics and dynamics";
  inertias, link radii and offsets, joint limits and torques: Universal_Robots_ROS2_Description, config/ur5e.
- Payload 5 kg, reach 850 mm, 180 deg/s: UR5e data sheet.
- Reflected motor inertia: 0.1 kg m² a joint, as in MuJoCo Menagerie's universal_robots_ur5e; the maker gives none.
- Stiffness and damping of the servos: chosen for a lag of 40 ms; the maker gives none.
- Gripper: `grippers.add_robotiq_2f85`.
"""

import mujoco
import numpy as np

from twinloop.twin.robot import Robot
from twinloop.twin.robot_parts.grippers import GRIPPERS, ROBOTIQ_2F85, add_robotiq_2f85
from twinloop.twin.robot_parts.links import SHOWN, Capsule, Link, add_arm

GREY, BLUE, DARK = (0.78, 0.79, 0.8, 1.0), (0.45, 0.65, 0.8, 1.0), (0.2, 0.21, 0.22, 1.0)
TURN = 2 * np.pi
LARGE = {
    "velocity_rad_s": np.pi,
    "torque_nm": 150.0,
    "stiffness_nm_rad": 5000.0,
    "damping_nms_rad": 200.0,
    "motor_inertia_kgm2": 0.1,
}
SMALL = {
    "velocity_rad_s": np.pi,
    "torque_nm": 28.0,
    "stiffness_nm_rad": 1500.0,
    "damping_nms_rad": 60.0,
    "motor_inertia_kgm2": 0.1,
}

LINKS = (
    Link("shoulder", "shoulder_pan", (0, 0, 0.1625), 0, (-TURN, TURN), **LARGE, mass_kg=3.761,
         com_m=(0, -0.00193, -0.02561), inertia=(0.0102675, 0.0102675, 0.00666, 0, 0, 0),
         capsules=(Capsule(0.06, (0, 0, -0.1), (0, 0, 0), GREY), Capsule(0.06, (0, 0, 0), (0, -0.06, 0), BLUE))),
    Link("upper_arm", "shoulder_lift", (0, 0, 0), 90, (-TURN, TURN), **LARGE, mass_kg=8.058,
         com_m=(-0.2125, 0, 0.11336), inertia=(0.0151074, 0.1338858, 0.1338858, 0, 0, 0),
         capsules=(Capsule(0.06, (0, 0, 0.08), (0, 0, 0.138), GREY),
                   Capsule(0.054, (0, 0, 0.138), (-0.425, 0, 0.138), GREY),
                   Capsule(0.058, (-0.425, 0, 0.138), (-0.425, 0, 0.1), BLUE))),
    Link("forearm", "elbow", (-0.425, 0, 0), 0, (-np.pi, np.pi), **LARGE, mass_kg=2.846, com_m=(-0.2422, 0, 0.0265),
         inertia=(0.004095, 0.0312094, 0.0312094, 0, 0, 0),
         capsules=(Capsule(0.055, (0, 0, 0.05), (0, 0, 0.007), GREY),
                   Capsule(0.04, (0, 0, 0.007), (-0.3922, 0, 0.007), GREY))),
    Link("wrist_1", "wrist_1", (-0.3922, 0, 0.1333), 0, (-TURN, TURN), **SMALL, mass_kg=1.37,
         com_m=(0, -0.01634, -0.0018), inertia=(0.0025599, 0.0025599, 0.0021942, 0, 0, 0),
         capsules=(Capsule(0.043, (0, 0, -0.09), (0, 0, 0), BLUE), Capsule(0.043, (0, 0, 0), (0, -0.03, 0), GREY))),
    Link("wrist_2", "wrist_2", (0, -0.0997, 0), 90, (-TURN, TURN), **SMALL, mass_kg=1.3, com_m=(0, 0.01634, -0.0018),
         inertia=(0.0025599, 0.0025599, 0.0021942, 0, 0, 0),
         capsules=(Capsule(0.043, (0, 0, -0.02), (0, 0, 0), BLUE), Capsule(0.043, (0, 0, 0), (0, 0.03, 0), GREY))),
    Link("wrist_3", "wrist_3", (0, 0.0996, 0), -90, (-TURN, TURN), **SMALL, mass_kg=0.365, com_m=(0, 0, -0.001159),
         inertia=(9.890414e-5, 9.890414e-5, 1.321172e-4, 0, 0, 0),
         capsules=(Capsule(0.036, (0, 0, -0.035), (0, 0, -0.034), DARK, touches=True),)),
)  # fmt: skip


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    # The maker's zero posture stretches the arm along -x; the base is turned so that it points to the table.
    base = spec.worldbody.add_body(name="base", quat=[0, 0, 0, 1])
    cylinder = mujoco.mjtGeom.mjGEOM_CYLINDER
    base.add_geom(type=cylinder, size=[0.075, 0.02, 0], pos=[0, 0, 0.02], rgba=DARK, **SHOWN)
    add_robotiq_2f85(spec, add_arm(spec, base, LINKS))
    return spec


UR5E_2F85 = Robot(
    name="ur5e_2f85",
    build=build,
    arm_joints=tuple(link.joint for link in LINKS),
    arm_actuators=tuple(link.joint for link in LINKS),
    gripper=ROBOTIQ_2F85.record,
    closed_tips_m=GRIPPERS["robotiq_2f85"].closed_tips_m,
    tool_site="tool",
    home_rad=(-0.2814, -1.6408, 1.567, -1.497, -1.5708, 1.2894),
    velocity_limits_rad_s=tuple(link.velocity_rad_s for link in LINKS),
    torque_limits_nm=tuple(link.torque_nm for link in LINKS),
    reach_m=0.85,
    payload_kg=5.0,
    source="Universal Robots DH parameters and data sheet; Universal_Robots_ROS2_Description; 2F-85 manual",
)
