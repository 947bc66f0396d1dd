"""The cell in 3-D: bodies, recorded poses, trails, the object's box and the echoes of a lidar."""

import mujoco
import numpy as np
import rerun as rr

from twinloop.dashboard.rerun.log import RerunLog
from twinloop.dashboard.rerun.shapes import geoms_of, shapes_of
from twinloop.dashboard.rerun.stored_episode import StoredEpisode
from twinloop.observe.poses import BodyPoses

WORLD = "world"
AXIS_M = 0.08
TRAIL_M = 0.002
COLOURS = {"object": (240, 90, 40), "tool": (70, 130, 220), "robot": (70, 130, 220), "goal": (40, 170, 90),
           "target": (40, 170, 90)}  # fmt: skip
OTHER = (150, 120, 90)
LIDAR, LIDAR_Z_M, ECHO_M = "observation.lidar", 0.11, 0.03
"""Feature of a lidar, height of its plane above the base's frame, and size of its points."""


def log_space(log: RerunLog, episode: StoredEpisode) -> None:
    log.static(WORLD, rr.ViewCoordinates.RIGHT_HAND_Z_UP)
    if episode.poses is not None:
        _bodies(log, episode.poses)
        if mujoco.mj_name2id(episode.poses.model, mujoco.mjtObj.mjOBJ_BODY, "object") >= 0:
            _object_box(log, episode.poses)
        if LIDAR in episode.frames:
            _echoes(log, episode, episode.poses)
    things = episode.things()
    if episode.poses is not None and "base" not in things:
        things["tool"] = _seven(episode.poses.tool_to_world)
    for name, poses in things.items():
        place(log, f"{WORLD}/pose/{name}", poses[:, :3], poses[:, 3:])
        log.static(f"{WORLD}/pose/{name}", rr.TransformAxes3D(AXIS_M))
        trail = rr.LineStrips3D([poses[:, :3]], radii=TRAIL_M, colors=[colour_of(name)])
        log.static(f"{WORLD}/trail/{name}", trail)


def colour_of(thing: str) -> tuple[int, int, int]:
    return COLOURS.get(thing, OTHER)


def _bodies(log: RerunLog, poses: BodyPoses) -> None:
    model = poses.model
    for body in range(1, model.nbody):
        path = f"{WORLD}/body/{_path_part(model.body(body).name or f'body{body}')}"
        place(log, path, poses.position_m[:, body], poses.quaternion[:, body])
        for kind, shapes in shapes_of(model, body).items():
            log.static(f"{path}/{kind}", shapes)


def _object_box(log: RerunLog, poses: BodyPoses) -> None:
    """The box around all geoms of the object, in the object's frame."""
    model = poses.model
    body = model.body("object").id
    corners = []
    for geom in geoms_of(model, body):
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.geom_quat[geom])
        reach = np.abs(axes.reshape(3, 3)) @ model.geom_aabb[geom, 3:]
        middle = model.geom_pos[geom] + axes.reshape(3, 3) @ model.geom_aabb[geom, :3]
        corners += [middle - reach, middle + reach]
    if not corners:
        return
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    place(log, f"{WORLD}/box/object", poses.position_m[:, body], poses.quaternion[:, body])
    box = rr.Boxes3D(mins=[low], sizes=[high - low], colors=[COLOURS["object"]], labels=["object"], show_labels=False)
    log.static(f"{WORLD}/box/object", box)


def _echoes(log: RerunLog, episode: StoredEpisode, poses: BodyPoses) -> None:
    """Points where the rays of a lidar ended, in the plane of the lidar. Rays without an echo have none."""
    ranges = np.asarray(episode.frames[LIDAR], float)
    angles = 2 * np.pi * np.arange(ranges.shape[1]) / ranges.shape[1]
    flat = np.stack([ranges * np.cos(angles), ranges * np.sin(angles), 0 * ranges + LIDAR_Z_M], axis=-1)
    world = np.einsum("fij,frj->fri", poses.tool_to_world[:, :3, :3], flat) + poses.tool_to_world[:, None, :3, 3]
    echoed = ranges < ranges.max()
    columns = rr.Points3D.columns(positions=world[echoed])
    log.columns(f"{WORLD}/lidar", columns.partition(echoed.sum(axis=1)))
    log.static(f"{WORLD}/lidar", rr.Points3D.from_fields(radii=ECHO_M, colors=[COLOURS["goal"]]))


def place(log: RerunLog, path: str, position_m: np.ndarray, quaternion: np.ndarray) -> None:
    """Write the pose of a frame in its parent; a pose that never changes is written once."""
    turn = np.roll(quaternion, -1, axis=1)  # Rerun's quaternions end in w
    if np.ptp(position_m, axis=0).max() == 0 and np.ptp(turn, axis=0).max() == 0:
        log.static(path, rr.Transform3D(translation=position_m[0], quaternion=rr.Quaternion(xyzw=turn[0])))
    else:
        log.columns(path, rr.Transform3D.columns(translation=position_m, quaternion=turn))


def place_matrices(log: RerunLog, path: str, poses: np.ndarray) -> None:
    """`place` for poses (f, 4, 4)."""
    seven = _seven(poses)
    place(log, path, seven[:, :3], seven[:, 3:])


def _seven(poses: np.ndarray) -> np.ndarray:
    """(f, 4, 4) as x, y, z and a quaternion w, x, y, z."""
    out = np.zeros((len(poses), 7))
    out[:, :3] = poses[:, :3, 3]
    for pose, row in zip(poses, out, strict=True):
        mujoco.mju_mat2Quat(row[3:], np.ascontiguousarray(pose[:3, :3]).ravel())
    return out


def _path_part(name: str) -> str:
    """A body's name as a path: `robot/link1` stays below `robot`."""
    return "/".join(rr.escape_entity_path_part(part) for part in name.split("/"))
