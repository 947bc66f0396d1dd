"""SO-101, the printed arm with five joints and a gripper on Feetech STS3215 servos, in primitive geometry.

Sources
- Kinematics, joint ranges, masses, centres of mass, inertias: The Robot Studio, SO-ARM100 repository,
  Simulation/SO101, the model with zero in the middle of every joint's range ("new calibration"), Apache-2.0.
- Servo: Feetech STS3215 data sheet (7.4 V: 1.9 N·m stall, 5.5 rad/s without load; 4096 steps a turn).
- Stiffness, braking and friction of the servos: fitted by `twinloop calibrate` to teleoperation logs.

lerobot has its own unit of position: -100 to 100 over each joint's calibrated range, 0 to 100 for the gripper.
`radians_per_unit` converts it.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.twin.area import Area
from twinloop.twin.robot import Gripper, Robot

ORANGE, DARK = (0.95, 0.62, 0.2, 1.0), (0.13, 0.13, 0.14, 1.0)
COLLIDES = {"contype": 1, "conaffinity": 0}
SHOWN = {"contype": 0, "conaffinity": 0}

STEPS_PER_TURN = 4096
STALL_TORQUE_NM = 1.9
NO_LOAD_SPEED_RAD_S = 5.5


@dataclass(frozen=True)
class _Link:
    """One link: its joint frame in the parent's frame (the joint rotates about z), joint range and mass.

    `inertia` is xx, yy, zz, xy, xz, yz about the centre of mass, in the joint frame.
    """

    body: str
    joint: str
    offset_m: tuple[float, float, float]
    quat: tuple[float, float, float, float]
    range_rad: tuple[float, float]
    mass_kg: float
    com_m: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


_S = 0.5**0.5
LINKS = (
    _Link("shoulder", "shoulder_pan", (0.0388353, 0, 0.0624), (0, 0, -1, 0), (-1.91986, 1.91986), 0.100006,
         (-0.0307604, 0, -0.0252713), (8.3759e-5, 8.10403e-5, 2.39783e-5, 0, -1.16342e-6, 0)),
    _Link("upper_arm", "shoulder_lift", (-0.0303992, -0.0182778, -0.0542), (0.5, -0.5, -0.5, -0.5),
         (-1.74533, 1.74533), 0.103, (-0.0898471, -0.00838224, 0.0184089),
         (4.08002e-5, 1.47318e-4, 1.42487e-4, -1.97819e-5, 0, 0)),
    _Link("lower_arm", "elbow_flex", (-0.11257, -0.028, 0), (_S, 0, 0, _S), (-1.69, 1.69), 0.104,
         (-0.0980701, 0.00324376, 0.0182831), (2.87438e-5, 1.59844e-4, 1.4529e-4, 7.41152e-6, 1.26409e-6, 0)),
    _Link("wrist", "wrist_flex", (-0.1349, 0.0052, 0), (_S, 0, 0, -_S), (-1.65806, 1.65806), 0.079,
         (-0.000103312, -0.0386143, 0.0281156), (3.68263e-5, 2.5391e-5, 2.1e-5, 0, 0, 3.6412e-6)),
    _Link("hand", "wrist_roll", (0, -0.0611, 0.0181), (0.0172091, -0.0172091, 0.706897, 0.706897),
         (-2.74385, 2.84121), 0.087, (0.000213627, 0.000245138, -0.025187),
         (2.75087e-5, 4.33657e-5, 3.45059e-5, -3.35241e-7, -5.7352e-6, 0)),
    _Link("moving_jaw", "gripper", (0.0202, 0.0188, -0.0234), (_S, _S, 0, 0), (-0.174533, 1.74533), 0.012,
         (-0.00157495, -0.0300244, 0.0192755), (6.61427e-6, 1.89032e-6, 5.28738e-6, -3.19807e-7, 0, 0)),
)  # fmt: skip

# Visible geometry of each link: (radius, from, to, colour, whether it has contacts), in the joint frame.
CAPSULES = (
    ((0.022, (-0.03, 0, -0.045), (-0.03, 0, -0.01), DARK, False),),
    ((0.02, (-0.01, 0, 0.018), (-0.1, 0, 0.018), ORANGE, False), (0.016, (-0.113, -0.028, 0), (-0.113, -0.028, 0.036),
     DARK, False)),
    ((0.018, (-0.01, 0, 0.018), (-0.12, 0.005, 0.018), ORANGE, False), (0.016, (-0.135, 0.005, 0), (-0.135, 0.005,
     0.036), DARK, False)),
    ((0.02, (0, -0.02, 0.02), (0, -0.045, 0.024), DARK, True),),
    ((0.02, (0.004, 0, -0.01), (0.004, 0, -0.04), DARK, True),),
    ((0.008, (0, 0, 0.019), (0, -0.02, 0.019), ORANGE, False),),
)  # fmt: skip

# Faces of the jaws at joint position 0: name, distance of each face from the middle between them, and where it begins
# and ends along the hand. Measured on wrist_roll_follower_so101_v1.stl and moving_jaw_so101_v1.stl of that repository.
PADS = (("pad", 0.0079, (-0.084, -0.105)), ("root", 0.0116, (-0.045, -0.084)))
PAD_M = 0.008

# Values of the servos at the joint.
STIFFNESS_NM_RAD = 15.0
BRAKING_NMS_RAD = 0.9
FRICTION_NM = 0.08
MOTOR_INERTIA_KGM2 = 0.028  # from The Robot Studio's model


def radians_per_unit(range_steps: int, *, units: float = 200.0) -> float:
    """Radians per lerobot unit of a joint that is calibrated over `range_steps` encoder steps (gripper: 100 units)."""
    return range_steps * 2 * np.pi / STEPS_PER_TURN / units


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    parent = spec.worldbody.add_body(name="base")
    parent.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.04, 0.03], pos=[0.01, 0, 0.03], rgba=DARK, **SHOWN)
    for link, capsules in zip(LINKS, CAPSULES, strict=True):
        parent = _add_link(spec, parent, link, capsules)
    _add_jaws(spec)
    return spec


def _add_link(spec: mujoco.MjSpec, parent: mujoco.MjsBody, link: _Link, capsules) -> mujoco.MjsBody:
    body = parent.add_body(name=link.body, pos=link.offset_m, quat=link.quat)
    body.explicitinertial = True
    body.mass, body.ipos, body.fullinertia = link.mass_kg, link.com_m, link.inertia
    body.add_joint(
        name=link.joint, axis=[0, 0, 1], range=link.range_rad, armature=MOTOR_INERTIA_KGM2, frictionloss=FRICTION_NM
    )
    for radius, start, end, colour, touches in capsules:
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[radius, 0, 0], fromto=[*start, *end], rgba=colour,
            mass=0, **(COLLIDES if touches else SHOWN),
        )  # fmt: skip
    servo = spec.add_actuator(name=link.joint, target=link.joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=STIFFNESS_NM_RAD, kv=BRAKING_NMS_RAD)
    servo.ctrlrange, servo.forcerange = link.range_rad, (-STALL_TORQUE_NM, STALL_TORQUE_NM)
    return body


def _add_jaws(spec: mujoco.MjSpec) -> None:
    """Add the finger tips: one is part of the hand, the other rotates about the gripper's joint.

    The faces of the printed jaws are parallel at joint position 0, 16 mm apart at the tips and 23 mm behind them. So a
    thing of 20 mm is held between nearly parallel faces, and at the end of the joint's range only the tips meet.
    """
    hand, jaw = spec.body("hand"), spec.body("moving_jaw")
    box = mujoco.mjtGeom.mjGEOM_BOX
    for name, face_m, (top_m, bottom_m) in PADS:
        middle_m, half_m = (top_m + bottom_m) / 2, (top_m - bottom_m) / 2
        hand.add_geom(
            name=f"fixed_{name}", type=box, size=[PAD_M / 2, 0.008, half_m], pos=[-face_m - PAD_M / 2, 0, middle_m],
            rgba=ORANGE, mass=0, **COLLIDES,
        )  # fmt: skip
        # The frame of the jaw is turned by 90 degrees about x, and away from that of the hand.
        x, y, z = LINKS[-1].offset_m
        jaw.add_geom(
            name=f"moving_{name}", type=box, size=[PAD_M / 2, half_m, 0.008],
            pos=[face_m + PAD_M / 2 - x, middle_m - z, y], rgba=ORANGE, mass=0, **COLLIDES,
        )  # fmt: skip
    # z points out of the hand, the jaw closes along y. The frame is half a hand's width from the fixed jaw, so that the
    # object fits between; the moving jaw then pushes it to the fixed one.
    hand.add_site(name="tool", pos=[0.016, 0, -0.0981], quat=[0, _S, -_S, 0], size=[0.004, 0.004, 0.004])


SO101 = Robot(
    name="so101",
    build=build,
    arm_joints=tuple(link.joint for link in LINKS[:5]),
    arm_actuators=tuple(link.joint for link in LINKS[:5]),
    gripper=Gripper(
        joints=("gripper",),
        actuator="gripper",
        finger_bodies=("hand", "moving_jaw"),
        open=0.75,
        closed=-0.17,
        open_control=0.75,
        closed_control=-0.17,
        unit="rad",
    ),
    tool_site="tool",
    home_rad=(0.0, -0.9, 0.9, 0.9, 0.0),
    velocity_limits_rad_s=(NO_LOAD_SPEED_RAD_S,) * 5,
    torque_limits_nm=(STALL_TORQUE_NM,) * 5,
    reach_m=0.36,
    # The hand points straight down up to 0.08 m above the base and 0.22 m from the first joint. On this plinth that is
    # 0.2 m above the table, and the hand still reaches the table itself out to 0.28 m.
    mount_m=(0.3, 0.02, 0.12),
    widest_grip_m=0.02,
    closing_speed=2.5,
    closed_tips_m=(0.0, 0.024, 0.0),
    # About the first joint, which the hand faces. Fingers that lean farther back than this do not reach half the ring.
    area=Area((0.339, 0.02), nearest_m=0.13, farthest_m=0.26, width=1.3, lean_rad=0.6),
    source="The Robot Studio, SO-ARM100 repository; Feetech STS3215 data sheet",
)
