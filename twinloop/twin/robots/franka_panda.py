"""Franka Emika Panda with the Franka Hand, from published figures, in primitive geometry.

Sources
- Kinematics, joint, velocity, acceleration and torque limits: Franka Control Interface documentation, "Robot and
  interface specifications", Denavit-Hartenberg parameters and "Limits for Panda".
- Masses, centres of mass, inertias: C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca,
  "Dynamic Identification of the Franka Emika Panda Robot With Retrieval of Feasible Parameters Using
  Penalty-Based Optimization", IEEE RA-L 4(4), 2019, as tabulated in franka_description.
- Reflected motor inertia: Franka's figures for the FR3, as tabulated in Drake's franka_description.
- Payload 3 kg, reach 855 mm: Panda data sheet.
- Hand: Franka Hand product manual (0.73 kg, 80 mm stroke, 70 N continuous force, 50 mm/s a finger).
- Joint stiffness: the joint impedance of libfranka's examples.
"""

import mujoco
import numpy as np

from twinloop.twin.robot import Gripper, Robot
from twinloop.twin.robot_parts.links import COLLIDES, SHOWN, Capsule, Link, add_arm

WHITE, GREY, DARK = (0.93, 0.93, 0.92, 1.0), (0.55, 0.57, 0.6, 1.0), (0.16, 0.17, 0.19, 1.0)

GRIP_FORCE_N = 40.0  # of the hand's 70 N continuous
FINGER_STIFFNESS_N_M = 4000.0


LINKS = (
    Link("link1", "joint1", (0, 0, 0.333), 0, (-2.8973, 2.8973), 2.175, 87, 3000, 140, 0.6057, 4.970684,
         (0.003875, 0.002081, -0.04762), (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
         (Capsule(0.062, (0, 0, -0.19), (0, 0, -0.01), WHITE),)),
    Link("link2", "joint2", (0, 0, 0), -90, (-1.7628, 1.7628), 2.175, 87, 3000, 140, 0.6057, 0.646926,
         (-0.003141, -0.02872, 0.003495), (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
         (Capsule(0.062, (0, -0.01, 0), (0, -0.17, 0), WHITE),
          Capsule(0.056, (0, 0, -0.06), (0, 0, 0.06), GREY))),
    Link("link3", "joint3", (0, -0.316, 0), 90, (-2.8973, 2.8973), 2.175, 87, 3000, 120, 0.4625, 3.228604,
         (0.027518, 0.039252, -0.066502), (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
         (Capsule(0.06, (0, 0, -0.13), (0, 0, -0.05), WHITE),
          Capsule(0.054, (0.083, 0.06, 0), (0.083, -0.06, 0), GREY))),
    Link("link4", "joint4", (0.0825, 0, 0), 90, (-3.0718, -0.0698), 2.175, 87, 2500, 100, 0.4625, 3.587895,
         (-0.05317, 0.104419, 0.027454), (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
         (Capsule(0.058, (-0.0825, 0.08, 0), (-0.0825, 0.15, 0), WHITE),
          Capsule(0.054, (0, 0, -0.05), (0, 0, 0.05), WHITE))),
    Link("link5", "joint5", (-0.0825, 0.384, 0), -90, (-2.8973, 2.8973), 2.61, 12, 2500, 50, 0.2055, 1.225946,
         (-0.011953, 0.041065, -0.038437), (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
         (Capsule(0.052, (0, 0.01, -0.22), (0, 0.06, -0.09), WHITE),
          Capsule(0.048, (0, 0.05, -0.02), (0, 0, 0), WHITE, touches=True))),
    Link("link6", "joint6", (0, 0, 0), 90, (-0.0175, 3.7525), 2.61, 12, 2000, 45, 0.2055, 1.666555,
         (0.060149, -0.014117, -0.010517), (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
         (Capsule(0.05, (0.088, 0, -0.05), (0.088, 0, 0.03), WHITE, touches=True),
          Capsule(0.046, (0, 0, -0.04), (0, 0, 0.04), GREY))),
    Link("link7", "joint7", (0.088, 0, 0), 90, (-2.8973, 2.8973), 2.61, 12, 2000, 42, 0.2055, 0.735522,
         (0.010517, -0.004252, 0.061597), (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
         (Capsule(0.045, (0, 0, 0.0), (0, 0, 0.075), GREY, touches=True),)),
)  # fmt: skip


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    add_panda(spec, spec.worldbody)
    return spec


def add_panda(spec: mujoco.MjSpec, mount: mujoco.MjsBody) -> None:
    """Add arm and hand, on the body that carries them."""
    base = mount.add_body(name="link0")
    base.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.09, 0.07, 0], pos=[-0.03, 0, 0.07], rgba=WHITE, **SHOWN)
    _add_hand(spec, add_arm(spec, base, LINKS))


def _add_hand(spec: mujoco.MjSpec, flange_link: mujoco.MjsBody) -> None:
    # The hand is mounted on the flange, 107 mm out, turned by -45 degrees about its axis.
    turn = np.deg2rad(-45) / 2
    hand = flange_link.add_body(name="hand", pos=[0, 0, 0.107], quat=[np.cos(turn), 0, 0, np.sin(turn)], gravcomp=1)
    hand.explicitinertial = True
    hand.mass, hand.ipos, hand.inertia = 0.73, (-0.01, 0, 0.03), (0.001, 0.0025, 0.0017)
    box = mujoco.mjtGeom.mjGEOM_BOX
    hand.add_geom(type=box, size=[0.024, 0.1, 0.026], pos=[0, 0, 0.034], rgba=WHITE, mass=0, **COLLIDES)
    hand.add_site(name="tool", pos=[0, 0, 0.1034], size=[0.005, 0.005, 0.005])
    for side, sign in (("left", 1), ("right", -1)):
        finger = hand.add_body(name=f"{side}_finger", pos=[0, 0, 0.0584], gravcomp=1)
        finger.explicitinertial = True
        finger.mass, finger.ipos, finger.inertia = 0.015, (0, sign * 0.012, 0.025), (3e-6, 3e-6, 1e-6)
        # Reflected motor inertia: the spindle drive has more inertia than the 15 g finger.
        finger.add_joint(
            name=f"{side}_finger", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, sign, 0],
            range=[0, 0.04], armature=0.5, damping=20,
        )  # fmt: skip
        finger.add_geom(type=box, size=[0.01, 0.007, 0.014], pos=[0, sign * 0.014, 0.014], rgba=GREY, mass=0, **SHOWN)
        finger.add_geom(
            name=f"{side}_pad", type=box, size=[0.009, 0.004, 0.012], pos=[0, sign * 0.004, 0.0415],
            rgba=DARK, mass=0, **COLLIDES,
        )  # fmt: skip
    # One spindle drives both fingers, so they are coupled, and one actuator acts on their mean.
    coupling = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1="left_finger", name2="right_finger", solref=[0.01, 1], solimp=[0.95, 0.99, 0.001, 0.5, 2],
    )  # fmt: skip
    coupling.data[:5] = [0, 1, 0, 0, 0]
    spindle = spec.add_tendon(name="spindle")
    spindle.wrap_joint("left_finger", 0.5)
    spindle.wrap_joint("right_finger", 0.5)
    drive = spec.add_actuator(name="gripper", target="spindle", trntype=mujoco.mjtTrn.mjTRN_TENDON)
    drive.set_to_position(kp=FINGER_STIFFNESS_N_M, kv=200)
    # The tendon's force is shared by the two fingers, so each presses with half of it.
    drive.ctrlrange, drive.forcerange = (0, 0.04), (-2 * GRIP_FORCE_N, 2 * GRIP_FORCE_N)


FRANKA_PANDA = Robot(
    name="franka_panda",
    build=build,
    arm_joints=tuple(f"joint{number}" for number in range(1, 8)),
    arm_actuators=tuple(f"joint{number}" for number in range(1, 8)),
    gripper=Gripper(
        joints=("left_finger", "right_finger"),
        actuator="gripper",
        finger_bodies=("left_finger", "right_finger"),
        open=0.08,
        closed=0.0,
        open_control=0.04,
        closed_control=0.0,
    ),
    tool_site="tool",
    home_rad=(0.0, -0.2, 0.0, -2.2, 0.0, 2.0, 0.7854),
    velocity_limits_rad_s=tuple(link.velocity_rad_s for link in LINKS),
    torque_limits_nm=tuple(float(link.torque_nm) for link in LINKS),
    reach_m=0.855,
    acceleration_limits_rad_s2=(15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0),
    payload_kg=3.0,
    source="Franka Control Interface documentation; Gaz et al. 2019; Franka Hand manual",
)
