"""A humanoid of 32 kg and 1.3 m from the published figures of the Unitree G1 with 12 driven joints.

Arms and waist are rigid, so the pelvis, torso, head and arms are one base.

Sources
- Masses, centres of mass, moments of inertia, link frames, joint ranges, torque and speed limits, points of the sole:
  Unitree's g1_12dof model in `unitree_rl_gym`. Products of inertia are left out. The two links of the ankle have the
  moments of inertia of the MJCF file.
- Reflected motor inertia of 0.01 kg·m²: the `armature` of that model.
- Nominal pose and gains: the `g1` config of `unitree_rl_gym`.
"""

import mujoco

from twinloop.twin.legs.leg_links import DARK, LIGHT, SHOWN, TOUCHES, LegLink, Vector, add_ball, add_base, add_leg
from twinloop.twin.legs.legged_robot import Foot, LeggedRobot

BASE_KG, BASE_COM_M, BASE_INERTIA = 17.7349, (0.01449, 0.0, 0.14407), (0.552723, 0.454092, 0.211762)
MOTOR_KGM2 = 0.01
SOLE_M = ((-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03), (0.12, 0.03, -0.03), (0.12, -0.03, -0.03))
SOLE_RADIUS_M = 0.005
SIDES = (("left", 1), ("right", -1))
PARTS = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
TORQUES_NM = (88.0, 139.0, 88.0, 139.0, 50.0, 50.0)
SPEEDS_RAD_S = (32.0, 20.0, 32.0, 20.0, 37.0, 37.0)
HOME = (-0.2, 0.0, 0.0, 0.4, -0.2, 0.0)


def _leg(name: str, left: int) -> tuple[LegLink, ...]:
    def link(
        number: int, offset_m: Vector, axis: Vector, range_rad: tuple[float, float], gains: tuple[float, float],
        mass_kg: float, com_m: Vector, inertia_kgm2: Vector, tip_m: Vector, pitch_rad: float = 0.0,
        radius_m: float = 0.03,
    ) -> LegLink:  # fmt: skip
        part, (stiffness, damping) = PARTS[number], gains
        return LegLink(
            f"{name}_{part}", f"{name}_{part}_joint", offset_m, axis, range_rad, SPEEDS_RAD_S[number],
            TORQUES_NM[number], stiffness, damping, MOTOR_KGM2, mass_kg, com_m, inertia_kgm2, tip_m,
            pitch_rad=pitch_rad, radius_m=radius_m,
        )  # fmt: skip

    roll = (-0.5236, 2.9671) if left > 0 else (-2.9671, 0.5236)
    return (
        link(0, (0, left * 0.064452, -0.1027), (0, 1, 0), (-2.5307, 2.8798), (100, 2),
             1.35, (0.002741, left * 0.047791, -0.02606), (0.001811, 0.0014193, 0.0012812),
             (0, left * 0.052, -0.030465), radius_m=0.045),
        link(1, (0, left * 0.052, -0.030465), (1, 0, 0), roll, (100, 2),
             1.52, (0.029812, left * -0.001045, -0.087934), (0.0023773, 0.0024123, 0.0016595),
             (0.025001, 0, -0.12412), pitch_rad=-0.1749, radius_m=0.05),
        link(2, (0.025001, 0, -0.12412), (0, 0, 1), (-2.7576, 2.7576), (100, 2),
             1.702, (-0.057709, left * -0.010981, -0.15078), (0.0057774, 0.0076124, 0.003149),
             (-0.078273, left * 0.0021489, -0.17734), radius_m=0.045),
        link(3, (-0.078273, left * 0.0021489, -0.17734), (0, 1, 0), (-0.087267, 2.8798), (150, 4),
             1.932, (0.005457, left * 0.003964, -0.12074), (0.011329, 0.011277, 0.0015168),
             (0, 0, -0.30001), pitch_rad=0.1749, radius_m=0.035),
        link(4, (0, 0, -0.30001), (0, 1, 0), (-0.87267, 0.5236), (40, 2),
             0.074, (-0.007269, 0, 0.011137), (1.89e-5, 1.408e-5, 6.92e-6), (0, 0, -0.017558), radius_m=0.02),
        link(5, (0, 0, -0.017558), (1, 0, 0), (-0.2618, 0.2618), (40, 2),
             0.608, (0.026505, 0, -0.016425), (0.000218, 0.001616, 0.001672), (0.09, 0, -0.02), radius_m=0.012),
    )  # fmt: skip


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    base = add_base(spec, "pelvis", BASE_KG, BASE_COM_M, BASE_INERTIA)
    box, ball, capsule = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE
    base.add_geom(name="pelvis", type=box, size=[0.06, 0.08, 0.06], pos=[0, 0, -0.06], rgba=DARK, mass=0, **TOUCHES)
    base.add_geom(name="torso", type=box, size=[0.07, 0.1, 0.16], pos=[0, 0, 0.2], rgba=LIGHT, mass=0, **TOUCHES)
    base.add_geom(name="head", type=ball, size=[0.08, 0, 0], pos=[0.01, 0, 0.45], rgba=DARK, mass=0, **TOUCHES)
    for name, left in SIDES:
        base.add_geom(
            type=capsule, size=[0.035, 0, 0], fromto=[0, left * 0.15, 0.28, 0.05, left * 0.18, 0.0], rgba=LIGHT, mass=0,
            **SHOWN,
        )  # fmt: skip
        foot = add_leg(spec, base, _leg(name, left))
        add_ball(spec.body(f"{name}_knee"), f"{name}_knee", (0.0, 0.0, 0.0), 0.04)
        for number, place in enumerate(SOLE_M):
            add_ball(foot, f"{name}_sole{number}", place, SOLE_RADIUS_M)
        foot.add_site(name=f"{name}_foot", pos=[0.035, 0, -0.03], size=[0.12, 0.06, 0.03])
    return spec


JOINTS = len(PARTS)

HUMANOID = LeggedRobot(
    name="humanoid",
    build=build,
    base="pelvis",
    joints=tuple(f"{name}_{part}_joint" for name, _ in SIDES for part in PARTS),
    home_rad=HOME * 2,
    velocity_limits_rad_s=SPEEDS_RAD_S * 2,
    torque_limits_nm=TORQUES_NM * 2,
    home_height_m=0.779,
    fallen_height_m=0.45,
    feet=tuple(
        Foot(f"{name}_foot", tuple(f"{name}_sole{number}" for number in range(len(SOLE_M))), phase)
        for (name, _), phase in zip(SIDES, (0.0, 0.5), strict=True)
    ),
    shins=tuple(f"{name}_knee" for name, _ in SIDES),
    mirror=tuple((number + JOINTS) % (2 * JOINTS) for number in range(2 * JOINTS)),
    mirror_sign=(1.0, -1.0, -1.0, 1.0, 1.0, -1.0) * 2,
    action_scale_rad=1.0,
    step_period_s=0.8,
    swing_height_m=0.08,
    source="Unitree g1_12dof; unitree_rl_gym",
)
