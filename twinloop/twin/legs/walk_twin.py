"""WalkTwin: a legged robot on a terrain, compiled once and simulated many times."""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.legs.legged_robot import LeggedRobot
from twinloop.twin.legs.terrain import GROUND, Terrain
from twinloop.twin.mobile_twin import MobileTwin, add_delay_lines, indices_of

TRUNK_SITE = "trunk_touch"
TOUCH_ROOM_M = 1.0
"""Half extents of the site that counts all contacts of a body: larger than any link."""


@dataclass(frozen=True, kw_only=True)
class WalkTwin(MobileTwin):
    """A legged robot on a terrain.

    Attributes:
        foot_sites: one per foot.
        foot_forces, shin_forces, base_forces: places in `sensordata` of the contact forces.
        start_height_m: height of the base above the ground when an episode begins.
        foot_rest_m: height of the feet's frames above the ground on which they stand.
    """

    robot: LeggedRobot
    terrain: Terrain
    foot_sites: np.ndarray
    foot_forces: np.ndarray
    shin_forces: np.ndarray
    base_forces: np.ndarray
    longest_s: float = 20.0
    start_height_m: float = 0.0
    foot_rest_m: float = 0.0


def compose_walk(
    robot: LeggedRobot, terrain: Terrain, *, timestep_s: float = 0.005, longest_delay_s: float = 0.0
) -> mujoco.MjSpec:
    """The spec of a robot on a terrain, with its contact sensors."""
    spec = robot.build()
    spec.modelname = f"{robot.name}/{terrain.name}"
    option, off = spec.option, mujoco.mjtDisableBit
    option.timestep = timestep_s
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    # A diverged state must stay visible. Islands and warm starts cost more than they save in a model of one tree.
    option.disableflags = off.mjDSBL_AUTORESET.value | off.mjDSBL_ISLAND.value | off.mjDSBL_WARMSTART.value
    spec.memory = 1 << 20
    terrain.add_to(spec)
    touch, site = mujoco.mjtSensor.mjSENS_TOUCH, mujoco.mjtObj.mjOBJ_SITE
    base = spec.body(robot.base)
    base.add_site(name=TRUNK_SITE, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[TOUCH_ROOM_M, 0, 0], group=4)
    for name in (TRUNK_SITE, *(foot.name for foot in robot.feet)):
        spec.add_sensor(name=name, type=touch, objtype=site, objname=name)
    for shin in robot.shins:
        geom = spec.geom(shin)
        geom.parent.add_site(name=shin, pos=geom.pos, size=[geom.size[0] * 1.5, 0, 0], group=4)
        spec.add_sensor(name=shin, type=touch, objtype=site, objname=shin)
    add_delay_lines(spec, longest_delay_s, timestep_s)
    return spec


def assemble_walk(
    robot: LeggedRobot,
    terrain: Terrain,
    *,
    control_hz: int = 50,
    timestep_s: float = 0.005,
    longest_delay_s: float = 0.0,
    longest_s: float = 20.0,
    start_height_m: float | None = None,
) -> WalkTwin:
    """Compile a robot on a terrain.

    Raises:
        ModelError: the model does not compile.
    """
    spec = compose_walk(robot, terrain, timestep_s=timestep_s, longest_delay_s=longest_delay_s)
    try:
        model = spec.compile()
    except ValueError as error:
        raise ModelError(f"robot {robot.name} does not compile on terrain {terrain.name}: {error}") from error
    model.opt.timestep = timestep_s

    def places(names: tuple[str, ...]) -> np.ndarray:
        return np.array([model.sensor(name).adr[0] for name in names])

    return WalkTwin(
        model=model,
        robot=robot,
        terrain=terrain,
        control_hz=control_hz,
        **indices_of(model, robot, ground=GROUND),
        foot_sites=np.array([model.site(foot.name).id for foot in robot.feet]),
        foot_forces=places(tuple(foot.name for foot in robot.feet)),
        shin_forces=places(robot.shins),
        base_forces=places((TRUNK_SITE,)),
        longest_delay_s=longest_delay_s,
        longest_s=longest_s,
        start_height_m=robot.home_height_m if start_height_m is None else start_height_m,
        foot_rest_m=_foot_rest_m(model, robot),
    )


def _foot_rest_m(model: mujoco.MjModel, robot: LeggedRobot) -> float:
    """How far the frame of the first foot is above its lowest point."""
    foot = robot.feet[0]
    site, geoms = model.site(foot.name), [model.geom(name) for name in foot.geoms]
    return float(site.pos[2] - min(geom.pos[2] - geom.size[0] for geom in geoms))
