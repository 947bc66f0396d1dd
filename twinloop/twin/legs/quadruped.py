"""A quadruped of 15 kg from the published figures of the Unitree Go2, in primitive geometry.

Sources
- Masses, centres of mass, moments of inertia, link lengths, joint ranges, torque and speed limits: Unitree's
  go2_description (URDF in `unitree_ros`). Products of inertia are left out. The foot is part of the calf.
- Reflected motor inertia: the rotor's 1.118e-4 kg·m² of that URDF times the square of the gear ratio of 6.33; the knee
  has a further transmission of 45.43 / 23.7, the ratio of the torque limits.
- Nominal pose and gains: of the order of the `go2` config in Unitree's `unitree_rl_gym` (20 N·m/rad, 0.5 N·m·s/rad),
  stiffer here so that a payload lowers the trunk less.
- Payload about 8 kg: Unitree's product page.
"""

import mujoco

from twinloop.twin.legs.leg_links import DARK, LIGHT, TOUCHES, LegLink, add_ball, add_base, add_leg
from twinloop.twin.legs.legged_robot import Foot, LeggedRobot

TRUNK_KG, TRUNK_COM_M, TRUNK_INERTIA = 6.921, (0.021112, 0.0, -0.005366), (0.02448, 0.098077, 0.107)
TRUNK_HALF_M = (0.1881, 0.04675, 0.057)
HIP_XY_M, HIP_OFFSET_M, LINK_M = (0.1934, 0.0465), 0.0955, 0.213
FOOT_RADIUS_M, KNEE_RADIUS_M = 0.022, 0.02
HIP_NM, KNEE_NM = 23.7, 45.43
ROTOR_KGM2 = 1.11842e-4 * 6.33**2
STIFFNESS_NM_RAD, DAMPING_NMS_RAD = 60.0, 1.5
LEGS = (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1))
"""Name of a leg, front (1) or rear (-1), left (1) or right (-1)."""


def _leg(name: str, front: int, left: int) -> tuple[LegLink, ...]:
    gains = (STIFFNESS_NM_RAD, DAMPING_NMS_RAD)
    thigh_range = (-1.5708, 3.4907) if front > 0 else (-0.5236, 4.5379)
    calf_kg, foot_kg = 0.154, 0.04
    com_z = (calf_kg * -0.115 + foot_kg * -LINK_M) / (calf_kg + foot_kg)
    spread = calf_kg * (0.115 + com_z) ** 2 + foot_kg * (LINK_M + com_z) ** 2  # parallel axes
    return (
        LegLink(f"{name}_hip", f"{name}_hip_joint", (front * HIP_XY_M[0], left * HIP_XY_M[1], 0.0), (1, 0, 0),
                (-1.0472, 1.0472), 30.1, HIP_NM, *gains, ROTOR_KGM2,
                0.678, (front * -0.0054, left * 0.00194, -0.000105), (0.00048, 0.000884, 0.000596),
                tip_m=(0.0, left * HIP_OFFSET_M, 0.0), radius_m=0.035),
        LegLink(f"{name}_thigh", f"{name}_thigh_joint", (0.0, left * HIP_OFFSET_M, 0.0), (0, 1, 0),
                thigh_range, 30.1, HIP_NM, *gains, ROTOR_KGM2,
                1.152, (-0.00374, left * -0.0223, -0.0327), (0.00584, 0.0058, 0.00103), tip_m=(0.0, 0.0, -LINK_M)),
        LegLink(f"{name}_calf", f"{name}_calf_joint", (0.0, 0.0, -LINK_M), (0, 1, 0),
                (-2.7227, -0.83776), 15.7, KNEE_NM, *gains, ROTOR_KGM2 * (KNEE_NM / HIP_NM) ** 2,
                calf_kg + foot_kg, (0.0043, left * -0.0008, com_z), (0.00109 + spread, 0.00111 + spread, 4.2e-5),
                tip_m=(0.0, 0.0, -LINK_M), radius_m=0.012),
    )  # fmt: skip


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    trunk = add_base(spec, "trunk", TRUNK_KG, TRUNK_COM_M, TRUNK_INERTIA)
    box = mujoco.mjtGeom.mjGEOM_BOX
    trunk.add_geom(name="trunk", type=box, size=TRUNK_HALF_M, rgba=LIGHT, mass=0, **TOUCHES)
    trunk.add_geom(
        name="head", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], pos=[0.285, 0, 0.0], rgba=DARK, mass=0,
        **TOUCHES,
    )  # fmt: skip
    for name, front, left in LEGS:
        calf = add_leg(spec, trunk, _leg(name, front, left))
        add_ball(calf, f"{name}_knee", (0.0, 0.0, 0.0), KNEE_RADIUS_M)
        add_ball(calf, f"{name}_foot", (-0.002, 0.0, -LINK_M), FOOT_RADIUS_M)
        calf.add_site(name=f"{name}_foot", pos=[-0.002, 0.0, -LINK_M], size=[0.03, 0.03, 0.03])
    return spec


def _per_leg(hip: float, thigh: float, calf: float) -> tuple[float, ...]:
    return (hip, thigh, calf) * len(LEGS)


# Right legs spread the other way. The rear feet stand a little further back, which keeps the trunk level under load.
HOME = tuple(angle for _, front, left in LEGS for angle in (left * 0.05, 0.8 if front > 0 else 0.9, -1.5))

QUADRUPED = LeggedRobot(
    name="quadruped",
    build=build,
    base="trunk",
    joints=tuple(f"{name}_{part}_joint" for name, *_ in LEGS for part in ("hip", "thigh", "calf")),
    home_rad=HOME,
    velocity_limits_rad_s=_per_leg(30.1, 30.1, 15.7),
    torque_limits_nm=_per_leg(HIP_NM, HIP_NM, KNEE_NM),
    home_height_m=0.327,
    fallen_height_m=0.16,
    # A trot: diagonal legs swing together.
    feet=tuple(
        Foot(f"{name}_foot", (f"{name}_foot",), phase) for (name, *_), phase in zip(LEGS, (0, 0.5, 0.5, 0), strict=True)
    ),
    shins=tuple(f"{name}_knee" for name, *_ in LEGS),
    mirror=(3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8),
    mirror_sign=_per_leg(-1.0, 1.0, 1.0),
    action_scale_rad=0.6,
    step_period_s=0.4,
    swing_height_m=0.06,
    payload_kg=8.0,
    source="Unitree go2_description; unitree_rl_gym",
)
