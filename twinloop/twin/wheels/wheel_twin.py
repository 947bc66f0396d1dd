"""WheelTwin: a robot on wheels in a room of movable walls, furniture and people, compiled once for all rooms."""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.mobile_twin import MobileTwin, add_delay_lines, indices_of
from twinloop.twin.wheels.floor_plan import FAR_M, MOST_BOXES, MOST_PEOPLE, PERSON_RADIUS_M
from twinloop.twin.wheels.wheeled_robot import WheeledRobot

FLOOR, TOUCH = "floor", "hull_touch"
BOX_HEIGHT_M, PERSON_HEIGHT_M = 1.0, 1.7
TOUCH_ROOM_M = 1.0
"""Radius of the site that counts all contacts of the base."""
STIFF = [0.97, 0.995, 0.0005, 0.5, 2]
"""Impedance of the floor: wheels that sink in roll by a smaller radius."""
OBSTACLE = {"contype": 2, "conaffinity": 0, "mass": 0.0}


@dataclass(frozen=True, kw_only=True)
class WheelTwin(MobileTwin):
    """A robot on wheels in a room. Each simulation has its own room: walls, furniture and people are mocap bodies.

    The driven joints are the wheels, left and right.

    Attributes:
        rays: number of rays of the lidar. range_m: distances above it are reported as this one.
        wheel_bodies, wheel_geoms: left and right.
        box_geoms, box_mocaps, person_mocaps: obstacles.
        base_force: place in `sensordata` of the force of obstacles on the hull.
    """

    robot: WheeledRobot
    rays: int
    range_m: float
    wheel_bodies: np.ndarray
    wheel_geoms: np.ndarray
    box_geoms: np.ndarray
    box_mocaps: np.ndarray
    person_mocaps: np.ndarray
    base_force: int
    longest_s: float = 40.0

    @property
    def ray_angles_rad(self) -> np.ndarray:
        """(rays,) counter-clockwise from straight ahead."""
        return 2 * np.pi * np.arange(self.rays) / self.rays


def compose_wheels(robot: WheeledRobot, *, timestep_s: float = 0.005, longest_delay_s: float = 0.0) -> mujoco.MjSpec:
    """The spec of a robot, a floor, and obstacles that are far away."""
    spec = robot.build()
    spec.modelname = f"{robot.name}/room"
    option, off = spec.option, mujoco.mjtDisableBit
    option.timestep = timestep_s
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    # A diverged state must stay visible. Bounding boxes of the middle phase are those of the compiled sizes.
    option.disableflags = (
        off.mjDSBL_AUTORESET.value | off.mjDSBL_ISLAND.value | off.mjDSBL_WARMSTART.value | off.mjDSBL_MIDPHASE.value
    )
    spec.memory = 1 << 20
    shapes, world = mujoco.mjtGeom, spec.worldbody
    world.add_geom(
        name=FLOOR, type=shapes.mjGEOM_PLANE, size=[0, 0, 0.1], friction=[0.8, 0.005, 0.0001], condim=3, priority=1,
        solimp=STIFF, contype=1, conaffinity=0, rgba=[0.6, 0.55, 0.5, 1],
    )  # fmt: skip
    for number in range(MOST_BOXES):
        box = world.add_body(name=f"box{number}", mocap=True, pos=[FAR_M, 0, BOX_HEIGHT_M / 2])
        box.add_geom(
            name=f"box{number}", type=shapes.mjGEOM_BOX, size=[0.1, 0.1, BOX_HEIGHT_M / 2], rgba=[0.5, 0.35, 0.2, 1],
            **OBSTACLE,
        )  # fmt: skip
    for number in range(MOST_PEOPLE):
        person = world.add_body(name=f"person{number}", mocap=True, pos=[FAR_M, 0, PERSON_HEIGHT_M / 2])
        person.add_geom(
            name=f"person{number}", type=shapes.mjGEOM_CYLINDER, size=[PERSON_RADIUS_M, PERSON_HEIGHT_M / 2, 0],
            rgba=[0.2, 0.4, 0.7, 1], **OBSTACLE,
        )  # fmt: skip
    spec.body(robot.base).add_site(name=TOUCH, type=shapes.mjGEOM_SPHERE, size=[TOUCH_ROOM_M, 0, 0], group=4)
    spec.add_sensor(name=TOUCH, type=mujoco.mjtSensor.mjSENS_TOUCH, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=TOUCH)
    add_delay_lines(spec, longest_delay_s, timestep_s)
    return spec


def assemble_wheels(
    robot: WheeledRobot,
    *,
    rays: int = 72,
    range_m: float = 4.0,
    control_hz: int = 10,
    timestep_s: float = 0.005,
    longest_delay_s: float = 0.0,
    longest_s: float = 40.0,
) -> WheelTwin:
    """Compile a robot and its obstacles.

    Raises:
        ModelError: the model does not compile.
    """
    try:
        model = compose_wheels(robot, timestep_s=timestep_s, longest_delay_s=longest_delay_s).compile()
    except ValueError as error:
        raise ModelError(f"robot {robot.name} does not compile: {error}") from error
    model.opt.timestep = timestep_s
    boxes = [model.geom(f"box{number}") for number in range(MOST_BOXES)]
    people = [model.body(f"person{number}") for number in range(MOST_PEOPLE)]
    return WheelTwin(
        model=model,
        robot=robot,
        rays=rays,
        range_m=range_m,
        control_hz=control_hz,
        **indices_of(model, robot, ground=FLOOR),
        wheel_bodies=np.array([model.body(name).id for name in robot.wheels]),
        wheel_geoms=np.array([model.geom(name).id for name in robot.wheels]),
        box_geoms=np.array([geom.id for geom in boxes]),
        box_mocaps=np.array([model.body_mocapid[int(geom.bodyid[0])] for geom in boxes]),
        person_mocaps=np.array([int(body.mocapid[0]) for body in people]),
        base_force=int(model.sensor(TOUCH).adr[0]),
        longest_delay_s=longest_delay_s,
        longest_s=longest_s,
    )
