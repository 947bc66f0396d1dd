"""A round differential-drive base of 2.5 kg from the published figures of the Kobuki, with a 2-D lidar on top.

Sources
- Wheel radius 35 mm, distance of the wheels 230 mm, 2578.33 encoder ticks a turn: parameters of `kobuki_driver` (Yujin
  Robot).
- 0.7 m/s, 180 °/s (the gyro degrades above 110 °/s, the limit here), payload 5 kg on hard floors and 4 kg on carpet:
  'Specifications' in the Kobuki documentation (iclebo-kobuki.readthedocs.io).
- Mass 2.4 kg with the small battery: `kobuki_description`. The base here has 2.35 kg without its lidar.
- Diameter 351.5 mm and height 124.8 mm: Kobuki user guide (`kobuki_description` has 356 mm and 109 mm for collisions).
- Acceleration of 1 m/s² and braking at 1.5 times that: defaults of the TurtleBot's velocity smoother, with 0.8 of its
  speed. Its turn acceleration of 2 rad/s² is doubled here.
- Lidar: Slamtec RPLIDAR A2M8, 0.15 to 12 m, 360°, 10 scans/s, errors within 1 % of the distance, 0.19 kg.
- Torque of the wheels, heights and the distribution of mass: engineering estimates. The base has a caster behind the
  axle, and one before it that touches the ground when the base nods.
"""

import mujoco

from twinloop.twin.wheels.wheeled_robot import Lidar, WheeledRobot

WHEEL_RADIUS_M, WHEEL_WIDTH_M, TRACK_M = 0.035, 0.021, 0.230
RADIUS_M, HEIGHT_M, CLEARANCE_M = 0.3515 / 2, 0.1248, 0.015
HULL_KG, WHEEL_KG, LIDAR_KG = 2.15, 0.1, 0.19
CASTER_X_M, CASTER_RADIUS_M, FRONT_GAP_M = 0.11, 0.017, 0.003
WHEEL_NM, SPEED_GAIN_NMS_RAD = 1.0, 0.05
DARK, LIGHT = [0.15, 0.15, 0.17, 1.0], [0.75, 0.76, 0.78, 1.0]
ON_FLOOR = {"contype": 0, "conaffinity": 1}
AGAINST_OBSTACLES = {"contype": 0, "conaffinity": 2}
NO_CONTACT = {"contype": 0, "conaffinity": 0}


def build() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    shapes = mujoco.mjtGeom
    base = spec.worldbody.add_body(name="base", pos=[0, 0, WHEEL_RADIUS_M])
    base.add_freejoint(name="base")
    mass, half = HULL_KG + LIDAR_KG, (HEIGHT_M + 0.04 - CLEARANCE_M) / 2
    round_inertia = mass * RADIUS_M**2 / 2
    tilt_inertia = mass * (3 * RADIUS_M**2 + (2 * half) ** 2) / 12
    base.mass, base.explicitinertial = mass, True
    base.ipos, base.inertia = [-0.02, 0, 0.02], [tilt_inertia, tilt_inertia, round_inertia]
    # The hull touches obstacles only, and wheels and casters touch the floor only.
    base.add_geom(
        name="hull", type=shapes.mjGEOM_CYLINDER, size=[RADIUS_M, half, 0],
        pos=[0, 0, CLEARANCE_M + half - WHEEL_RADIUS_M], rgba=DARK, mass=0, **AGAINST_OBSTACLES,
    )  # fmt: skip
    base.add_geom(
        name="lidar", type=shapes.mjGEOM_CYLINDER, size=[0.035, 0.02, 0], pos=[0, 0, HEIGHT_M + 0.022 - WHEEL_RADIUS_M],
        rgba=LIGHT, mass=0, **NO_CONTACT,
    )  # fmt: skip
    for side, y in (("left", 1), ("right", -1)):
        wheel = base.add_body(name=f"{side}_wheel", pos=[0, y * TRACK_M / 2, 0])
        wheel.add_joint(name=f"{side}_wheel", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], armature=2e-4)
        wheel.mass, wheel.explicitinertial = WHEEL_KG, True
        spin = WHEEL_KG * WHEEL_RADIUS_M**2 / 2
        wheel.inertia = [spin / 2, spin, spin / 2]
        # A sphere touches the floor in one point, so that the distance of the contacts is the track.
        wheel.add_geom(
            name=f"{side}_wheel", type=shapes.mjGEOM_SPHERE, size=[WHEEL_RADIUS_M, 0, 0], mass=0, rgba=[0, 0, 0, 0],
            **ON_FLOOR,
        )  # fmt: skip
        wheel.add_geom(
            type=shapes.mjGEOM_CYLINDER, size=[WHEEL_RADIUS_M, WHEEL_WIDTH_M / 2, 0], quat=[0.7071068, 0.7071068, 0, 0],
            mass=0, rgba=LIGHT, **NO_CONTACT,
        )  # fmt: skip
        drive = spec.add_actuator(name=f"{side}_wheel", target=f"{side}_wheel", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.set_to_velocity(kv=SPEED_GAIN_NMS_RAD)
        drive.forcelimited, drive.forcerange = True, [-WHEEL_NM, WHEEL_NM]
    for name, x, gap in (("rear_caster", -CASTER_X_M, 0.0), ("front_caster", CASTER_X_M, FRONT_GAP_M)):
        caster = base.add_body(name=name, pos=[x, 0, CASTER_RADIUS_M + gap - WHEEL_RADIUS_M])
        # The priority above that of the floor makes the caster slide freely.
        caster.add_geom(
            name=name, type=shapes.mjGEOM_SPHERE, size=[CASTER_RADIUS_M, 0, 0], mass=1e-3, condim=1, priority=2,
            rgba=LIGHT, **ON_FLOOR,
        )  # fmt: skip
    return spec


DIFF_DRIVE = WheeledRobot(
    name="diff_drive",
    build=build,
    base="base",
    joints=("left_wheel", "right_wheel"),
    wheels=("left_wheel", "right_wheel"),
    radius_m=RADIUS_M,
    wheel_radius_m=WHEEL_RADIUS_M,
    track_m=TRACK_M,
    top_speed_m_s=0.7,
    top_turn_rad_s=1.92,
    acceleration_m_s2=1.0,
    braking_m_s2=1.5,
    turn_acceleration_rad_s2=4.0,
    lidar=Lidar(0.15, 12.0, HEIGHT_M + 0.02, "Slamtec RPLIDAR A2M8 datasheet"),
    payload_kg=4.0,
    source="kobuki_driver; kobuki_description; Kobuki documentation; RPLIDAR A2M8 datasheet",
)
