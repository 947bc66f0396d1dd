"""Occluders: an object in front of each fixed camera that hides a share of the object at its start.

They exist only in the rendered stage, so they have no contacts. An occluder within reach of the arm is moved towards
its camera and shrunk in proportion, so the image stays the same.
"""

from collections.abc import Iterable, Mapping
from itertools import product

import mujoco
import numpy as np

from twinloop.observe.camera import CameraConfig
from twinloop.randomize.imaging import ImageSettings
from twinloop.randomize.start import start_of
from twinloop.twin.table import PARKED_M
from twinloop.twin.twin import Twin

PREFIX = "occluder/"
THICKNESS_M = 0.01
LENGTH = 3.0  # in widths
WIDEST = 0.5  # at a distance of 1, which is 28° of the view
NEAREST_M = 0.12  # to its camera
ROOM_CENTRE_M, ROOM_M = np.array([0.0, 0.0, 0.33]), 0.8  # reach of an arm on a table, from its shoulder
RGBA = (0.3, 0.32, 0.36, 1.0)


def add_occluders(spec: mujoco.MjSpec, cameras: Mapping[str, CameraConfig]) -> None:
    for name, camera in cameras.items():
        if camera.mount == "fixed":
            body = spec.worldbody.add_body(name=PREFIX + name, pos=[0, 0, PARKED_M])
            body.add_geom(
                name=PREFIX + name, type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.1, THICKNESS_M / 2], rgba=RGBA,
                contype=0, conaffinity=0,
            )  # fmt: skip


def place_occluder(
    model: mujoco.MjModel, name: str, camera_to_world: np.ndarray, twin: Twin, values: Mapping[str, float],
    settings: ImageSettings,
) -> None:  # fmt: skip
    """Write position and size of the occluder of one camera."""
    body, geom = model.body(PREFIX + name).id, model.geom(PREFIX + name).id
    if settings.hidden_share <= 0:
        model.body_pos[body] = [0, 0, PARKED_M]
        return
    seen, distance_m = _outline(camera_to_world, twin, values)
    side = np.deg2rad(settings.hidden_from_deg)
    axes = np.array([[np.cos(side), np.sin(side)], [-np.sin(side), np.cos(side)]])
    (low, across_low), (high, across_high) = (seen @ axes.T).min(axis=0), (seen @ axes.T).max(axis=0)
    hidden = settings.hidden_share * (high - low)
    # Sizes and places in the image are in metres at a distance of 1.
    drawn_at_m = settings.occluder_at_share * distance_m
    width = max(min(settings.occluder_width_m / drawn_at_m, WIDEST), 1.05 * hidden)
    length = max(LENGTH * width, 1.5 * (across_high - across_low))
    along, across = high - hidden + width / 2, (across_low + across_high) / 2
    ray = np.array([*(along * axes[0] + across * axes[1]), 1.0])
    at_m = _clear_of_arm(camera_to_world, ray, np.hypot(width, length) / 2, drawn_at_m)
    turn = np.eye(3)
    turn[:2, 0], turn[:2, 1] = axes
    model.body_pos[body] = camera_to_world[:3, :3] @ (at_m * ray) + camera_to_world[:3, 3]
    mujoco.mju_mat2Quat(model.body_quat[body], np.ascontiguousarray(camera_to_world[:3, :3] @ turn).ravel())
    model.geom_size[geom] = [at_m * width / 2, at_m * length / 2, THICKNESS_M / 2]
    model.geom_rbound[geom] = np.linalg.norm(model.geom_size[geom])


def _outline(camera_to_world: np.ndarray, twin: Twin, values: Mapping[str, float]) -> tuple[np.ndarray, float]:
    """(8, 2) corners of the object at its start, in the image at a distance of 1, and the object's distance."""
    draw = {column: np.array([value]) for column, value in values.items()}
    pose = start_of(twin, draw, 1).poses[twin.things[0].name][0]
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, pose[3:])
    half = np.array(twin.object.half_extents_m) * values["object_size_scale"]
    corners = pose[:3] + np.array(list(_corners())) * half @ turn.reshape(3, 3).T
    in_camera = (corners - camera_to_world[:3, 3]) @ camera_to_world[:3, :3]
    # An object behind the camera is not visible; the numbers only have to stay finite.
    depth = np.maximum(in_camera[:, 2], 0.05)
    return in_camera[:, :2] / depth[:, None], float(depth.mean())


def _corners() -> Iterable[tuple[int, ...]]:
    return product((-1, 1), repeat=3)


def _clear_of_arm(camera_to_world: np.ndarray, ray: np.ndarray, radius: float, drawn_at_m: float) -> float:
    """Distance of the occluder from the camera at which the arm cannot reach it, at most the drawn one."""
    for share in np.linspace(1, 0.1, 19):
        at_m = max(share * drawn_at_m, NEAREST_M)
        centre = camera_to_world[:3, :3] @ (at_m * ray) + camera_to_world[:3, 3]
        if np.linalg.norm(centre - ROOM_CENTRE_M) - at_m * radius > ROOM_M:
            return at_m
    # The camera itself is within reach of the arm, so the occluder is as close to it as allowed.
    return min(NEAREST_M, drawn_at_m)
