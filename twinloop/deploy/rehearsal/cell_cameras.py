"""CellCameras: images of a rehearsal cell, rendered by Drake's VTK engine whatever the physics engine.

Lights, materials, lens and sensor are other than the twin's. They are drawn from the seed of the cell; only the
brightness changes from episode to episode, by the row `lighting_intensity`. Masks are labels, which no camera gives.
"""

from collections.abc import Mapping

import mujoco
import numpy as np
from pydrake.common.value import AbstractValue  # pyright: ignore[reportMissingModuleSource]
from pydrake.geometry import (
    Box,
    ClippingRange,
    ColorRenderCamera,
    DepthRange,
    DepthRenderCamera,
    FrameId,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    LightParameter,
    MakeRenderEngineVtk,
    PerceptionProperties,
    RenderCameraCore,
    RenderEngineVtkParams,
    RenderLabel,
    Rgba,
    SceneGraph,
    Shape,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.systems.sensors import CameraInfo

from twinloop.deploy.rehearsal.cell_build import CellBuild
from twinloop.deploy.rehearsal.depth_sensor import FAR_M as DEPTH_FAR_M
from twinloop.deploy.rehearsal.depth_sensor import NEAR_M as DEPTH_NEAR_M
from twinloop.deploy.rehearsal.depth_sensor import DepthSensor
from twinloop.deploy.rehearsal.drake_shapes import drake_shape, transform
from twinloop.deploy.rehearsal.poses import pose_of, rotation
from twinloop.observe.camera import CameraConfig
from twinloop.observe.pictures import DEPTH
from twinloop.observe.recording import PREFIX
from twinloop.randomize.draw import episode_rng

RENDERER = "vtk"
NEAR_M, FAR_M = 0.01, 10.0
FLOOR_M = -0.75
SHOWN_GROUPS = 2
"""Highest group of geoms that is shown, as in MuJoCo's viewer; robots hide collision shapes in higher groups."""
MOUNT_M, MOUNT_RAD, FOV, DISTORTION, CENTRE = 0.004, 0.01, 0.02, 0.06, 0.01
"""Largest errors of a camera: mount, field of view (as a factor), radial distortion, principal point (of its size)."""
TINT, NOISE = 0.15, 3.0
"""Largest error of a colour, and largest standard deviation of the image noise in grey levels."""


class CellCameras:
    """The cameras of a cell during one episode."""

    def __init__(
        self, build: CellBuild, cameras: Mapping[str, CameraConfig], *, brightness: float, seed: int, episode: int
    ):
        self._build, self._cameras = build, cameras
        self._noise_rng = episode_rng(seed, episode, stream="images")
        self._depth_rng = episode_rng(seed, episode, stream="depth images")
        rng = episode_rng(seed, 0, stream="looks")
        self._rng = rng
        self._scene = SceneGraph()
        self._scene.AddRenderer(RENDERER, MakeRenderEngineVtk(_look(rng, brightness)))
        self._source = self._scene.RegisterSource("cell")
        self._frames = self._add_bodies()
        self._lenses = {name: _Lens(camera, rng) for name, camera in cameras.items()}
        depth_rng = episode_rng(seed, 0, stream="depth sensors")
        self._depth_sensors = {name: DepthSensor(depth_rng) for name, camera in cameras.items() if camera.depth}
        self._context = self._scene.CreateDefaultContext()
        self._last: dict[str, np.ndarray] = {}
        self._filmed: set[str] = set()

    def _add_bodies(self) -> dict[int, FrameId]:
        model = self._build.model
        frames = {}
        for body in range(model.nbody):
            geoms = [geom for geom in range(model.ngeom) if model.geom_bodyid[geom] == body and _is_drawn(model, geom)]
            absent = model.body_mocapid[body] >= 0 and body not in self._build.placed
            if not geoms or absent:
                continue
            frame = GeometryFrame(f"body {body}")
            frames[body] = self._scene.RegisterFrame(self._source, frame)
            for geom in geoms:
                pose = transform(model.geom_pos[geom], model.geom_quat[geom])
                self._add(frames[body], pose, drake_shape(model, geom), _colour(model, geom), f"geom {geom}")
        floor = RigidTransform(np.array([0.0, 0.0, FLOOR_M - 0.05]))
        shape = Box(8.0, 8.0, 0.1)
        self._add(None, floor, shape, np.array([0.4, 0.42, 0.45, 1.0]), "floor")
        return frames

    def _add(self, frame: FrameId | None, pose: RigidTransform, shape: Shape, rgba: np.ndarray, name: str) -> None:
        tint = np.clip(rgba[:3] * (1 + TINT * self._rng.uniform(-1, 1, 3)), 0, 1)
        properties = PerceptionProperties()
        properties.AddProperty("phong", "diffuse", Rgba(*tint, float(rgba[3])))
        properties.AddProperty("label", "id", RenderLabel(1))
        instance = GeometryInstance(pose, shape, name)
        instance.set_perception_properties(properties)
        if frame is None:
            self._scene.RegisterAnchoredGeometry(self._source, instance)
        else:
            self._scene.RegisterGeometry(self._source, frame, instance)

    def look(self, data: mujoco.MjData, table: np.ndarray, tick: int) -> dict[str, np.ndarray]:
        """Return feature -> image of every camera: (height, width, 3) bytes of RGB, (height, width, 1) metres of depth.

        Args:
            data: kinematics of the present state.
            table: pose of the table.
            tick: number of the control period; a slow camera repeats its last image.
        """
        poses = FramePoseVector()
        for body, frame in self._frames.items():
            pose = table if body == self._build.twin.table_body else pose_of(data.xpos[body], data.xquat[body])
            poses.set_value(frame, transform(pose[:3], pose[3:]))
        self._scene.get_source_pose_port(self._source).FixValue(self._context, AbstractValue.Make(poses))
        query = self._scene.get_query_output_port().Eval(self._context)
        site = self._build.twin.tool_site
        tool = RigidTransform(RotationMatrix(data.site_xmat[site].reshape(3, 3)), data.site_xpos[site])
        for name, camera in self._cameras.items():
            period = self._build.twin.control_hz / (camera.rate_hz or self._build.twin.control_hz)
            if name in self._filmed and int(tick / period) == int((tick - 1) / period):
                continue
            lens = self._lenses[name]
            mount = tool if camera.mount == "wrist" else RigidTransform()
            at = mount.multiply(lens.in_mount)
            world = self._scene.world_frame_id()
            if camera.rgb:
                image = query.RenderColorImage(lens.camera, world, at).data
                self._last[PREFIX + name] = lens.seen(np.asarray(image)[..., :3], self._noise_rng)
            if camera.depth:
                depth_m = np.asarray(query.RenderDepthImage(lens.depth_camera, world, at).data)[..., 0]
                seen_m = self._depth_sensors[name].seen(lens.distorted(depth_m), self._depth_rng)
                self._last[PREFIX + name + DEPTH] = seen_m[..., None]
            self._filmed.add(name)
        return dict(self._last)


class _Lens:
    """A camera with errors of its mount, field of view, distortion and noise."""

    def __init__(self, camera: CameraConfig, rng: np.random.Generator):
        shift_m, turn = MOUNT_M * rng.uniform(-1, 1, 3), MOUNT_RAD * rng.uniform(-1, 1, 3)
        small = np.array([1.0, *(turn / 2)])
        axes = camera.axes @ rotation(small / np.linalg.norm(small))
        self.in_mount = RigidTransform(RotationMatrix(axes), np.array(camera.position_m) + shift_m)
        fov = np.deg2rad(camera.fov_deg) * (1 + FOV * rng.uniform(-1, 1))
        focal = camera.height / 2 / np.tan(fov / 2)
        centre = np.array([camera.width, camera.height]) * (0.5 + CENTRE * rng.uniform(-1, 1, 2)) - 0.5
        info = CameraInfo(camera.width, camera.height, focal, focal, *map(float, centre))
        core = RenderCameraCore(RENDERER, info, ClippingRange(NEAR_M, FAR_M), RigidTransform())
        self.camera = ColorRenderCamera(core, False)
        self.depth_camera = DepthRenderCamera(core, DepthRange(DEPTH_NEAR_M, DEPTH_FAR_M))
        self._noise = NOISE * rng.uniform(0.3, 1)
        self._rows, self._columns = _distorted(camera.height, camera.width, DISTORTION * rng.uniform(-1, 1))

    def seen(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        bent = self.distorted(image).astype(np.float32)
        bent += self._noise * rng.standard_normal(bent.shape, dtype=np.float32)
        return np.clip(bent, 0, 255).astype(np.uint8)

    def distorted(self, image: np.ndarray) -> np.ndarray:
        return image[self._rows, self._columns]


def _distorted(height: int, width: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixel of the straight image that each pixel of a distorted one shows."""
    v, u = np.mgrid[0:height, 0:width]
    y, x = (v - (height - 1) / 2) / (height / 2), (u - (width - 1) / 2) / (height / 2)
    scale = 1 + strength * (x * x + y * y)
    rows = np.clip(np.round(y * scale * height / 2 + (height - 1) / 2), 0, height - 1).astype(int)
    columns = np.clip(np.round(x * scale * height / 2 + (width - 1) / 2), 0, width - 1).astype(int)
    return rows, columns


def _look(rng: np.random.Generator, brightness: float) -> RenderEngineVtkParams:
    """Return the renderer's settings: a lamp overhead to one side, a weaker one opposite, and light from above."""
    angle, warmth = rng.uniform(0, 2 * np.pi), rng.uniform(-0.12, 0.12)
    lights = []
    for turn, height, share in ((0.0, 1.5, 0.75), (2.4, 0.8, 0.4), (4.0, 4.0, 0.3)):
        away = np.array([np.cos(angle + turn), np.sin(angle + turn), height])
        lights.append(LightParameter(
            type="directional", frame="world", direction=-away / np.linalg.norm(away), intensity=share * brightness,
            color=Rgba(min(1.0, 1 + warmth), 1.0, min(1.0, 1 - warmth), 1.0),
        ))  # fmt: skip
    clear = rng.uniform(0.55, 0.85) * min(brightness, 1.1)
    params = RenderEngineVtkParams()
    params.lights = lights
    params.default_clear_color = np.array([clear, clear, clear])
    return params


def _is_drawn(model: mujoco.MjModel, geom: int) -> bool:
    plane = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE.value
    return not plane and model.geom_group[geom] <= SHOWN_GROUPS and _colour(model, geom)[3] > 0


def _colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    material = int(model.geom_matid[geom])
    return np.array(model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom], float)
