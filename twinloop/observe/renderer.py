"""Renderer: images from recorded states and a draw.

Pixels are a function of (twin, draw, recorded states). The OpenGL context and the stage are created once per process
and serve every episode; a new episode uploads its textures and writes a few values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.observe.appearance import drawn_half_extents_m, dress, fov_deg, towards_brightest
from twinloop.observe.buffers import Buffers
from twinloop.observe.camera import CameraConfig, Intrinsics, intrinsics_of
from twinloop.observe.clip import Clip
from twinloop.observe.flow import pixel_velocity
from twinloop.observe.gl import context
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.label_ids import things_of
from twinloop.observe.moments import picture_ticks, states_at
from twinloop.observe.poses import place_bystander
from twinloop.observe.projection import inverse
from twinloop.observe.stage import build_stage
from twinloop.randomize.hand_path import COLUMNS as HAND_COLUMNS
from twinloop.randomize.start import clutter_places, standing, start_of
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

ENGINE_TO_VISION = np.diag([1.0, -1.0, -1.0, 1.0])
"""The engine's camera frame has y up and looks along -z."""


@dataclass(frozen=True)
class Filmed:
    """Poses of all bodies and cameras in each image: (f, ..., 4, 4) to the world. `things` is (f, things, 4, 4)."""

    cameras: dict[str, np.ndarray]
    geoms: np.ndarray
    things: np.ndarray
    tool: np.ndarray


class Renderer:
    def __init__(self, twin: Twin, cameras: Mapping[str, CameraConfig]):
        context()
        self.twin, self.stage = twin, build_stage(twin, cameras)
        self.cameras = dict(cameras)
        model = self.stage.model
        self._data = mujoco.MjData(model)
        self._scene = mujoco.MjvScene(model, maxgeom=2 * model.ngeom + 100)
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0
        self._gl = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        self._gl.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._views = {}
        for name in cameras:
            view = mujoco.MjvCamera()
            view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED.value, model.camera(name).id
            self._views[name] = view
        self._flex_geoms = {
            index.soft.flex: int(geoms[0])
            for index, geoms in zip(twin.things, self.stage.geoms, strict=True)
            if index.soft is not None
        }
        self._things = things_of(model, twin.task)
        self._material: float | None = None
        self._bystander: dict[str, np.ndarray] = {}
        self._drawn: np.ndarray | None = None

    def film(
        self, episodes: Episodes, row: int, *, masks: bool = False, ticks: np.ndarray | None = None
    ) -> dict[str, Clip]:
        """Render one episode with every camera.

        Args:
            masks: render masks even if the labels of a camera do not need them.
            ticks: times of the images, in control periods; by default each camera has its own rate.
        """
        values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
        # Another renderer of this process may have made its own buffer current, even in another thread.
        context().make_current()
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._gl)
        self._dress(values)
        self._furnish(values)
        self._drawn = None
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
        buffers = {
            name: Buffers(self.cameras[name], len(when), masks or self.cameras[name].needs_masks)
            for name, when in pictured.items()
        }
        everything = np.unique(np.concatenate(list(pictured.values())))
        # One image after the other, because a graphics context renders one at a time.
        filmed = self._pass(states_at(*states, everything), everything, pictured, buffers)
        soon = np.minimum(everything + 1, length - 1)
        later = self._pass(states_at(*states, soon), soon, {}, {}) if moves else filmed
        return {
            name: self._clip(name, values, pictured[name], np.searchsorted(everything, pictured[name]), buffers[name],
                             filmed, later if moves else None)
            for name in self.cameras
        }  # fmt: skip

    def _dress(self, values: Values) -> None:
        textures = dress(self.stage, values)
        material = image_settings(values).material
        if material != self._material:
            for texture in textures:
                mujoco.mjr_uploadTexture(self.stage.model, self._gl, texture)
            self._material = material

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

    def _pass(
        self,
        states: tuple[np.ndarray, np.ndarray],
        ticks: np.ndarray,
        pictured: dict[str, np.ndarray],
        buffers: dict[str, Buffers],
    ) -> Filmed:
        """Go through the ticks once, store all poses, and render the images of the cameras.

        Args:
            states: positions and environment at the ticks.
        """
        model, data, twin = self.stage.model, self._data, self.twin
        poses = {name: np.zeros((len(ticks), 4, 4)) for name in self.cameras}
        geoms = np.zeros((len(ticks), model.ngeom, 4, 4))
        bodies = [index.body for index in twin.things]
        things, tool = np.zeros((len(ticks), len(bodies), 4, 4)), np.zeros((len(ticks), 4, 4))
        for number, tick in enumerate(ticks):
            place_bystander(data, twin, self._bystander, tick)
            self._pose(states[0][number], states[1][number])
            _fill(geoms[number], data.geom_xpos, data.geom_xmat)
            _fill(things[number], data.xpos[bodies], data.xmat[bodies])
            _fill(tool[number], data.site_xpos[twin.tool_site], data.site_xmat[twin.tool_site])
            fresh = False
            for name, view in self._views.items():
                camera = view.fixedcamid
                _fill(poses[name][number], data.cam_xpos[camera], data.cam_xmat[camera])
                if name not in pictured:
                    continue
                place = int(np.searchsorted(pictured[name], tick))
                if place < len(pictured[name]) and pictured[name][place] == tick:
                    self._draw(view, buffers[name], place, fresh=fresh)
                    fresh = True
        return Filmed({name: pose @ ENGINE_TO_VISION for name, pose in poses.items()}, geoms, things, tool)

    def _pose(self, position: np.ndarray, environment: np.ndarray) -> None:
        """Set the stage's bodies from one row of recorded states."""
        data, twin = self._data, self.twin
        twin.pose_robot(data, position)
        twin.pose_scene(data, environment)
        mujoco.mj_kinematics(self.stage.model, data)
        mujoco.mj_camlight(self.stage.model, data)
        if self._flex_geoms:
            mujoco.mj_flex(self.stage.model, data)

    def _draw(self, view: mujoco.MjvCamera, buffers: Buffers, place: int, *, fresh: bool) -> None:
        model, scene = self.stage.model, self._scene
        if fresh:
            # The scene already holds the bodies of this tick; only the camera changes.
            mujoco.mjv_updateCamera(model, self._data, view, scene)
        else:
            everything = mujoco.mjtCatBit.mjCAT_ALL.value
            mujoco.mjv_updateScene(model, self._data, self._option, None, view, everything, scene)
        flags = scene.flags
        flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = model.mat_reflectance.any()
        mujoco.mjr_render(buffers.viewport, scene, self._gl)
        mujoco.mjr_readPixels(buffers.rgb[place], buffers.depth[place], buffers.viewport, self._gl)
        if buffers.ids is None:
            return
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        mujoco.mjr_render(buffers.viewport, scene, self._gl)
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        mujoco.mjr_readPixels(buffers.colours, None, buffers.viewport, self._gl)
        coded = buffers.colours[..., 0].astype(np.uint16)
        if scene.ngeom >= 256:
            coded += 256 * buffers.colours[..., 1].astype(np.uint16)
        self._geoms_drawn().take(coded, out=buffers.ids[place], mode="clip")

    def _geoms_drawn(self) -> np.ndarray:
        """Geom of each segmentation number; number 0 is no geom.

        The rendered geoms change only with the draw, so this is computed once per episode. It takes as long as
        rendering some of them.
        """
        scene, drawn = self._scene, self._drawn
        if drawn is None or len(drawn) != scene.ngeom + 1:
            self._drawn = drawn = np.full(scene.ngeom + 1, -1, np.int16)
            for geom in scene.geoms[: scene.ngeom]:
                if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                    drawn[geom.segid + 1] = geom.objid
                elif geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_FLEX:
                    drawn[geom.segid + 1] = self._flex_geoms[geom.objid]
        return drawn

    def _clip(
        self, name: str, values: Values, ticks: np.ndarray, rows: np.ndarray, buffers: Buffers,
        filmed: Filmed, later: Filmed | None,
    ) -> Clip:  # fmt: skip
        camera, settings = self.cameras[name], image_settings(values)
        intrinsics = intrinsics_of(camera, fov_deg(camera, settings), 0.0)
        rgb, depth_m, ids = buffers.images()
        pose = filmed.cameras[name][rows]
        velocity = None
        if later is not None and ids is not None:
            geoms = filmed.geoms[rows], later.geoms[rows]
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
