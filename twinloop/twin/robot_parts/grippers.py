"""Grippers that can be attached to an arm without one."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco

from twinloop.twin.robot import Gripper
from twinloop.twin.robot_parts.linkage_gripper import LinkageGripper
from twinloop.twin.robot_parts.links import COLLIDES, SHOWN

DARK, WHITE = (0.2, 0.21, 0.22, 1.0), (0.92, 0.92, 0.93, 1.0)

ROBOTIQ_2F85 = LinkageGripper(
    pivot_m=(0.0306011, 0.054904),
    driver_m=(0.0376, 0.043),
    pad_m=(-0.0252, 0.03242),
    pad_size_m=(0.022, 0.00635, 0.0375),
    stroke_rad=0.8,
    tool_m=0.145,
    force_n=50.0,  # in the lower part of its range
    speed_m_s=0.075,
    driver_mass_kg=0.0311,
    finger_mass_kg=0.0139,
)
XARM_GRIPPER = LinkageGripper(
    pivot_m=(0.035, 0.059098),
    driver_m=(0.035465, 0.042039),
    pad_m=(-0.028465, 0.041),
    pad_size_m=(0.03, 0.004, 0.035),
    stroke_rad=0.82,
    tool_m=0.158,
    force_n=30.0,
    speed_m_s=0.1,
    driver_mass_kg=0.0566,
    finger_mass_kg=0.0483,
)
COUPLING_M = 0.0108


def add_robotiq_2f85(spec: mujoco.MjSpec, flange: mujoco.MjsBody) -> None:
    """Robotiq 2F-85 with its coupling.

    Sources: 2F-85 instruction manual (stroke 85 mm, 20 to 235 N, up to 150 mm/s, 0.925 kg with coupling); linkage and
    pads: ros-industrial/robotiq, robotiq_2f_85_gripper_visualization; coupling and centre of mass: MuJoCo Menagerie's
    robotiq_2f85.
    """
    hand = flange.add_body(name="hand", pos=[0, 0, COUPLING_M], gravcomp=1)
    hand.explicitinertial = True
    moving_kg = 2 * (ROBOTIQ_2F85.driver_mass_kg + ROBOTIQ_2F85.finger_mass_kg)
    hand.mass, hand.ipos, hand.inertia = 0.925 - moving_kg, (0, 0, 0.0355), (8e-4, 9e-4, 6e-4)
    hand.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[0.0375, 0.006, 0], pos=[0, 0, -0.005], rgba=DARK, mass=0, **SHOWN
    )
    hand.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.025, 0.036, 0.04], pos=[0, 0, 0.04], rgba=DARK, mass=0, **COLLIDES
    )
    ROBOTIQ_2F85.add_to(spec, hand)


def add_xarm_gripper(spec: mujoco.MjSpec, flange: mujoco.MjsBody) -> None:
    """UFACTORY xArm gripper.

    Sources: xArm gripper user manual (stroke 84 mm, 30 N, 0.822 kg); linkage, masses and inertia:
    xArm-Developer/xarm_ros, xarm_description/urdf/gripper.
    """
    hand = flange.add_body(name="hand", gravcomp=1)
    hand.explicitinertial = True
    moving_kg = 2 * (XARM_GRIPPER.driver_mass_kg + XARM_GRIPPER.finger_mass_kg)
    hand.mass, hand.ipos = 0.822 - moving_kg, (-0.00065, -0.00185, 0.048)
    hand.fullinertia = (0.00047106, 0.00033072, 0.00025642, 3.9e-7, 2.65e-6, -1.1e-5)
    hand.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.03, 0.055, 0.032], pos=[0, 0, 0.038], rgba=WHITE, mass=0, **COLLIDES
    )
    XARM_GRIPPER.add_to(spec, hand)


@dataclass(frozen=True)
class ShippedGripper:
    """A gripper that is added to a flange, whose z axis points outwards.

    Attributes:
        hand: the body that carries it.
        tool_site: the site between its finger tips.
        closed_tips_m: where the tips of the closed fingers are, in the tool's frame. Fingers on a linkage reach farther
            when they are closed.
    """

    add: Callable[[mujoco.MjSpec, mujoco.MjsBody], None]
    record: Gripper
    closed_tips_m: tuple[float, float, float]
    hand: str = "hand"
    tool_site: str = "tool"


GRIPPERS = {
    "robotiq_2f85": ShippedGripper(add_robotiq_2f85, ROBOTIQ_2F85.record, (0.0, 0.0, 0.013)),
    "xarm_gripper": ShippedGripper(add_xarm_gripper, XARM_GRIPPER.record, (0.0, 0.0, 0.01)),
}
