"""Refuse cameras inside a body before anything is simulated; they would see nothing."""

from collections.abc import Mapping

import mujoco
import numpy as np

from twinloop.errors import ConfigError
from twinloop.observe.camera import CameraConfig
from twinloop.observe.stage import Stage, build_stage
from twinloop.randomize.draw import nominal_values
from twinloop.twin.twin import Twin


def refuse_blocked(twin: Twin, cameras: Mapping[str, CameraConfig]) -> None:
    """Raise for the first camera that is inside a body at the start pose, and name the body."""
    if not cameras:
        return
    stage = build_stage(twin, cameras)
    data = _start(stage)
    site, model = twin.tool_site, stage.model
    for name, camera in cameras.items():
        point = np.array(camera.position_m)
        if camera.mount == "wrist":
            point = data.site_xpos[site] + data.site_xmat[site].reshape(3, 3) @ point
        for geom in range(model.ngeom):
            if _inside(model, data, geom, point):
                frame = "the tool frame" if camera.mount == "wrist" else "the world"
                raise ConfigError(
                    f"cameras.{name}.position_m",
                    f"is {list(camera.position_m)} in {frame}, which is inside {_named(model, geom)} at the start "
                    f"pose; move the camera out of it",
                )


def _start(stage: Stage) -> mujoco.MjData:
    """The cell at the start of an episode with nominal values."""
    twin, data = stage.twin, mujoco.MjData(stage.model)
    start = twin.task.start(nominal_values(1), 1, twin.task.by_name)
    twin.pose_robot(data, np.array(twin.robot.home))
    twin.pose_scene(data, twin.environment_at(start)[0])
    mujoco.mj_kinematics(stage.model, data)
    return data


def _inside(model: mujoco.MjModel, data: mujoco.MjData, geom: int, point: np.ndarray) -> bool:
    """True if a point is inside a convex geom: a line through it then meets the geom on both sides of the point."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    position, axes = data.geom_xpos[geom], data.geom_xmat[geom]
    if kind == mujoco.mjtGeom.mjGEOM_PLANE:
        return float((point - position) @ axes.reshape(3, 3)[:, 2]) < 0
    for direction in np.eye(3):
        for sign in (1.0, -1.0):
            ray = sign * direction
            if kind == mujoco.mjtGeom.mjGEOM_MESH:
                distance = mujoco.mj_rayMesh(model, data, geom, point, ray)
            else:
                distance = mujoco.mju_rayGeom(position, axes, size, point, ray, int(kind))
            if distance < 0:
                return False
    return True


def _named(model: mujoco.MjModel, geom: int) -> str:
    name, body = model.geom(geom).name, model.body(int(model.geom_bodyid[geom])).name
    return f"geom {name!r}" if name else f"a geom of body {body!r}"
