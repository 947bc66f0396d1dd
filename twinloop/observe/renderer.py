"""Renderer: images from recorded states and a draw.

Pixels are a function of (twin, draw, recorded states). The OpenGL context and the stage are created once per process
and serve every episode; a new episode uploads its textures and writes a few values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.observe.appearance import drawn_half_extents_m, dress, fov_deg, towards_brightest
from twinloop.observe.camera import CameraConfig, Intrinsics, intrinsics_of
from twinloop.observe.clip import Clip
from twinloop.observe.flow import pixel_velocity
from twinloop.observe.gl import context
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.label_ids import things_of
from twinloop.observe.moments import picture_ticks, states_at
from twinloop.observe.painter import CameraView, Images, Painter
from twinloop.observe.poses import place_bystander
from twinloop.observe.projection import inverse
from twinloop.observe.quality import QUALITIES, QualityName
from twinloop.observe.stage import build_stage
from twinloop.randomize.hand_path import COLUMNS as HAND_COLUMNS
from twinloop.randomize.start import clutter_places, standing, start_of
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

ENGINE_TO_VISION = np.diag([1.0, -1.0, -1.0, 1.0])
"""The engine's camera frame has y up and looks along -z."""


@dataclass(frozen=True)
class Filmed:
    """Poses of all bodies and cameras in each image: (f, ..., 4, 4) to the world. `things` is (f, things, 4, 4).

    Soft objects follow the geoms. `soft_m` is (f, v, 3) with the vertices of all of them; None without any.
    """

    cameras: dict[str, np.ndarray]
    geoms: np.ndarray
    soft_m: np.ndarray | None
    things: np.ndarray
    tool: np.ndarray


class Renderer:
    def __init__(self, twin: Twin, cameras: Mapping[str, CameraConfig]):
        context()
        self.twin, self.stage = twin, build_stage(twin, cameras)
        self.cameras = dict(cameras)
        model = self.stage.model
        self._data = mujoco.MjData(model)
        self._camera_ids = {name: model.camera(name).id for name in cameras}
        qualities: dict[QualityName, None] = dict.fromkeys(camera.quality for camera in cameras.values())
        self._painters = {quality: Painter(self.stage, QUALITIES[quality]) for quality in qualities}
        self._things = things_of(model, twin.task)
        self._bystander: dict[str, np.ndarray] = {}

    def film(
        self, episodes: Episodes, row: int, *, masks: bool = False, ticks: np.ndarray | None = None
    ) -> dict[str, Clip]:
        """Render one episode with every camera.

        Args:
            masks: render masks even if the labels of a camera do not need them.
            ticks: times of the images, in control periods; by default each camera has its own rate.
        """
        values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
        dress(self.stage, values)
        self._furnish(values)
        start, length = episodes.starts[row], episodes.lengths[row]
        rows = slice(start, start + length)
        states = episodes["position"][rows], episodes["environment"][rows]
        if "nodes" in episodes.channels:
            states = states[0], np.concatenate([states[1], episodes["nodes"][rows]], axis=1)
        settings = image_settings(values)
        moves = settings.moves
        pictured = {
            name: picture_ticks(length, control_hz=self.twin.control_hz, rate_hz=camera.rate_hz)
            if ticks is None
            else np.asarray(ticks, float)
            for name, camera in self.cameras.items()
        }
        # Motion blur and depth holes of a reflecting table need masks even if they were not requested.
        masks = masks or moves or (settings.depth_holes > 0 and settings.table_mirror > 0)
        everything = np.unique(np.concatenate(list(pictured.values())))
        filmed = self._poses(states_at(*states, everything), everything)
        soon = np.minimum(everything + 1, length - 1)
        later = self._poses(states_at(*states, soon), soon) if moves else None
        shown = {name: np.searchsorted(everything, when) for name, when in pictured.items()}
        images = self._paint(values, filmed, shown)
        return {
            name: self._clip(name, values, pictured[name], shown[name], images[name],
                             masks or self.cameras[name].needs_masks, filmed, later)
            for name in self.cameras
        }  # fmt: skip

    def _paint(self, values: Values, filmed: Filmed, shown: Mapping[str, np.ndarray]) -> dict[str, Images]:
        """Draw the frames of every camera.

        Args:
            shown: camera -> states that its frames show.
        """
        images, settings = {}, image_settings(values)
        for quality, painter in self._painters.items():
            look = painter.look(values)
            names = [name for name, camera in self.cameras.items() if camera.quality == quality]
            views = [
                CameraView(self.cameras[name], look, filmed.geoms, filmed.soft_m, filmed.cameras[name][shown[name]],
                     shown[name], fov_deg(self.cameras[name], settings))
                for name in names
            ]  # fmt: skip
            images |= dict(zip(names, painter.paint(views), strict=True))
        return images

    def _furnish(self, values: Values) -> None:
        """Place clutter and surroundings as drawn, and set the bystander's path. The tape does not contain them."""
        twin = self.twin
        self._bystander = {name: np.array([values[name]]) for name in HAND_COLUMNS}
        if not twin.surroundings and not len(twin.clutter_mocaps):
            return
        draw = {column: np.array([value]) for column, value in values.items()}
        begin = start_of(twin, draw, 1)
        for body, places in standing(draw, begin, twin.object, twin.surroundings).items():
            self._data.mocap_pos[twin.mocap(body)] = places[0]
        if len(twin.clutter_mocaps):
            self._data.mocap_pos[twin.clutter_mocaps] = clutter_places(draw, begin)[0]

    def _poses(self, states: tuple[np.ndarray, np.ndarray], ticks: np.ndarray) -> Filmed:
        """Poses of all bodies and cameras.

        Args:
            states: positions and environment at the ticks.
        """
        model, data, twin = self.stage.model, self._data, self.twin
        poses = {name: np.zeros((len(ticks), 4, 4)) for name in self.cameras}
        geoms = np.tile(np.eye(4), (len(ticks), model.ngeom + model.nflex, 1, 1))
        soft_m = np.zeros((len(ticks), model.nflexvert, 3)) if model.nflex else None
        bodies = [index.body for index in twin.things]
        things, tool = np.zeros((len(ticks), len(bodies), 4, 4)), np.zeros((len(ticks), 4, 4))
        # One after the other, because the engine's kinematics take one state.
        for number, tick in enumerate(ticks):
            place_bystander(data, twin, self._bystander, tick)
            self._pose(states[0][number], states[1][number])
            _fill(geoms[number, : model.ngeom], data.geom_xpos, data.geom_xmat)
            _fill(things[number], data.xpos[bodies], data.xmat[bodies])
            _fill(tool[number], data.site_xpos[twin.tool_site], data.site_xmat[twin.tool_site])
            if soft_m is not None:
                soft_m[number] = data.flexvert_xpos
            for name, camera in self._camera_ids.items():
                _fill(poses[name][number], data.cam_xpos[camera], data.cam_xmat[camera])
        return Filmed({name: pose @ ENGINE_TO_VISION for name, pose in poses.items()}, geoms, soft_m, things, tool)

    def _pose(self, position: np.ndarray, environment: np.ndarray) -> None:
        """Set the stage's bodies from one row of recorded states."""
        data, twin = self._data, self.twin
        twin.pose_robot(data, position)
        twin.pose_scene(data, environment)
        mujoco.mj_kinematics(self.stage.model, data)
        mujoco.mj_camlight(self.stage.model, data)
        if self.stage.model.nflex:
            mujoco.mj_flex(self.stage.model, data)

    def _clip(
        self, name: str, values: Values, ticks: np.ndarray, rows: np.ndarray, images: Images, masks: bool,
        filmed: Filmed, later: Filmed | None,
    ) -> Clip:  # fmt: skip
        camera, settings = self.cameras[name], image_settings(values)
        intrinsics = intrinsics_of(camera, fov_deg(camera, settings), 0.0)
        rgb, depth_m, ids = images.rgb, images.depth_m, images.geom_ids() if masks else None
        pose = filmed.cameras[name][rows]
        velocity = None
        if later is not None and ids is not None:
            count = self.stage.model.ngeom
            geoms = filmed.geoms[rows, :count], later.geoms[rows, :count]
            pair = pose, later.cameras[name][rows]
            period_s = self.twin.control_period_s
            velocity = pixel_velocity(depth_m, ids, self._things.instances, geoms, pair, intrinsics, period_s)
        light_px = _towards_px(inverse(pose)[:, :3, :3] @ towards_brightest(self.stage, settings), intrinsics)
        return Clip(
            camera=camera, intrinsics=intrinsics, ticks=ticks, rgb=rgb, depth_m=depth_m, geom_ids=ids,
            camera_to_world=pose, things_to_world=filmed.things[rows], tool_to_world=filmed.tool[rows],
            pixel_velocity=velocity, light_px=light_px,
            half_extents_m=drawn_half_extents_m(self.twin, values),
            things=self._things,
        )  # fmt: skip


def _fill(pose: np.ndarray, position: np.ndarray, axes: np.ndarray) -> None:
    pose[..., :3, 3] = position
    pose[..., :3, :3] = axes.reshape(*position.shape[:-1], 3, 3)
    pose[..., 3, 3] = 1


def _towards_px(directions_in_camera: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """(f, 3) pixel of an infinitely distant point, and whether it is in front of the camera."""
    forward = directions_in_camera[:, 2]
    centred = intrinsics.fx * directions_in_camera[:, :2] / np.maximum(np.abs(forward), 0.05)[:, None]
    return np.column_stack([np.add(centred, (intrinsics.cx, intrinsics.cy)), forward > 0])
