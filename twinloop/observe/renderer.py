"""Renderer: images from recorded states and a draw.

Pixels are a function of (twin, draw, recorded states). The OpenGL context and the stage are created once per process
and serve every episode; a new episode uploads its textures and writes a few values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.observe.appearance import drawn_half_extents_m, dress, fov_deg, towards_brightest
from twinloop.observe.camera import CameraConfig, Intrinsics, intrinsics_of
from twinloop.observe.clip import Clip
from twinloop.observe.drawn_frames import DrawnFrames
from twinloop.observe.flow import pixel_velocity
from twinloop.observe.frame_batch import Look
from twinloop.observe.gl import context
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.label_ids import things_of
from twinloop.observe.moments import picture_ticks, states_at
from twinloop.observe.painter import CameraView, Painter
from twinloop.observe.poses import place_bystander
from twinloop.observe.projection import inverse
from twinloop.observe.quality import QUALITIES, QualityName
from twinloop.observe.stage import build_stage
from twinloop.randomize.hand_path import COLUMNS as HAND_COLUMNS
from twinloop.randomize.imaging import ImageSettings
from twinloop.randomize.start import clutter_places, standing, start_of
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

ENGINE_TO_VISION = np.diag([1.0, -1.0, -1.0, 1.0])
"""The engine's camera frame has y up and looks along -z."""
MOVED = ("body_pos", "body_quat", "geom_pos", "geom_quat", "cam_pos", "cam_quat")
"""Fields of the model that a draw changes and kinematics read."""
KEPT_DRAWS = 512


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


@dataclass(frozen=True)
class FilmRequest:
    """An episode to render. ticks: camera -> times of its images, in control periods; None: at the camera's rate."""

    episodes: Episodes
    row: int
    ticks: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class _Dressed:
    """The stage with one draw.

    Attributes:
        poses: field of the model, or `mocap_pos` of its data -> values, for what a draw moves.
        towards_light: unit vector to the brightest light.
        half_extents_m: (things, 3) as drawn.
    """

    settings: ImageSettings
    looks: Mapping[QualityName, Look]
    poses: Mapping[str, np.ndarray]
    towards_light: np.ndarray
    half_extents_m: np.ndarray


@dataclass(frozen=True)
class _PreparedEpisode:
    """An episode that is ready to be drawn.

    Attributes:
        state_rows: camera -> index of the state that each of its frames shows.
        later: poses one control period later, if the draw has a shutter.
    """

    dressed: _Dressed
    ticks: Mapping[str, np.ndarray]
    state_rows: Mapping[str, np.ndarray]
    filmed: Filmed
    later: Filmed | None
    masks: bool

    def view(self, quality: QualityName, name: str, camera: CameraConfig) -> CameraView:
        rows = self.state_rows[name]
        return CameraView(
            camera, self.dressed.looks[quality], self.filmed.geoms, self.filmed.soft_m,
            self.filmed.cameras[name][rows], rows, fov_deg(camera, self.dressed.settings),
        )  # fmt: skip


class Renderer:
    def __init__(self, twin: Twin, cameras: Mapping[str, CameraConfig]):
        context()
        self.twin, self.stage = twin, build_stage(twin, cameras)
        self.cameras = dict(cameras)
        model = self.stage.model
        self._data = mujoco.MjData(model)
        self._camera_ids = {name: model.camera(name).id for name in cameras}
        qualities: dict[QualityName, None] = dict.fromkeys(camera.quality for camera in cameras.values())
        self._painters: dict[QualityName, Painter] = {
            quality: Painter(self.stage, QUALITIES[quality]) for quality in qualities
        }
        self._things = things_of(model, twin.task)
        self._bystander: dict[str, np.ndarray] = {}
        self._dressed: dict[tuple[float, ...], _Dressed] = {}

    def film(
        self, episodes: Episodes, row: int, *, masks: bool = False, ticks: np.ndarray | None = None
    ) -> dict[str, Clip]:
        """Render one episode with every camera.

        Args:
            masks: render masks even if the labels of a camera do not need them.
            ticks: times of the images, in control periods; by default each camera has its own rate.
        """
        every = None if ticks is None else dict.fromkeys(self.cameras, ticks)
        return self.film_together([FilmRequest(episodes, row, every)], masks=masks)[0]

    def film_together(self, requests: Sequence[FilmRequest], *, masks: bool = False) -> list[dict[str, Clip]]:
        """Render several episodes, whose frames are drawn together. The images are those of one episode at a time."""
        prepared = [self._prepare(request, masks) for request in requests]
        images: dict[tuple[int, str], DrawnFrames] = {}
        for quality, painter in self._painters.items():
            keys = [
                (number, name)
                for number in range(len(prepared))
                for name, camera in self.cameras.items()
                if camera.quality == quality
            ]
            views = [prepared[number].view(quality, name, self.cameras[name]) for number, name in keys]
            images |= dict(zip(keys, painter.paint(views), strict=True))
        return [
            {name: self._clip(name, episode, images[number, name]) for name in self.cameras}
            for number, episode in enumerate(prepared)
        ]

    def _prepare(self, request: FilmRequest, masks: bool) -> _PreparedEpisode:
        """Poses and looks of an episode. The stage is then free for the next one."""
        episodes, row = request.episodes, request.row
        values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
        dressed = self._dress(values)
        start, length = episodes.starts[row], episodes.lengths[row]
        rows = slice(start, start + length)
        states = episodes["position"][rows], episodes["environment"][rows]
        if "nodes" in episodes.channels:
            states = states[0], np.concatenate([states[1], episodes["nodes"][rows]], axis=1)
        settings = dressed.settings
        pictured = {
            name: picture_ticks(length, control_hz=self.twin.control_hz, rate_hz=camera.rate_hz)
            if request.ticks is None
            else np.asarray(request.ticks[name], float)
            for name, camera in self.cameras.items()
        }
        everything = np.unique(np.concatenate(list(pictured.values())))
        filmed = self._poses(states_at(*states, everything), everything)
        soon = np.minimum(everything + 1, length - 1)
        # The last state of an episode is at rest.
        moves = settings.moves and bool((soon != everything).any())
        return _PreparedEpisode(
            dressed=dressed,
            ticks=pictured,
            state_rows={name: np.searchsorted(everything, when) for name, when in pictured.items()},
            filmed=filmed,
            later=self._poses(states_at(*states, soon), soon) if moves else None,
            # Motion blur and depth holes of a reflecting table need masks even if they were not requested.
            masks=masks or moves or (settings.depth_holes > 0 and settings.table_mirror > 0),
        )

    def _dress(self, values: Values) -> _Dressed:
        """Give the stage the looks of a draw. Those of the last draws are kept, because live cameras alternate."""
        self._bystander = {name: np.array([values[name]]) for name in HAND_COLUMNS}
        key = tuple(values.values())
        dressed = self._dressed.pop(key, None)
        if dressed is None:
            settings = image_settings(values)
            dress(self.stage, values)
            self._furnish(values)
            dressed = _Dressed(
                settings,
                {quality: painter.look(values) for quality, painter in self._painters.items()},
                {name: getattr(self.stage.model, name).copy() for name in MOVED}
                | {"mocap_pos": self._data.mocap_pos.copy()},
                towards_brightest(self.stage, settings),
                drawn_half_extents_m(self.twin, values),
            )
            if len(self._dressed) >= KEPT_DRAWS:
                del self._dressed[next(iter(self._dressed))]
        else:
            for name in MOVED:
                getattr(self.stage.model, name)[:] = dressed.poses[name]
            self._data.mocap_pos[:] = dressed.poses["mocap_pos"]
        self._dressed[key] = dressed  # the last one is the most recent
        return dressed

    def _furnish(self, values: Values) -> None:
        """Place clutter and surroundings as drawn. The tape does not contain them."""
        twin = self.twin
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

    def _clip(self, name: str, episode: _PreparedEpisode, images: DrawnFrames) -> Clip:
        camera, rows, filmed, later = self.cameras[name], episode.state_rows[name], episode.filmed, episode.later
        intrinsics = intrinsics_of(camera, fov_deg(camera, episode.dressed.settings), 0.0)
        ids = images.geom_ids if episode.masks or camera.needs_masks else None
        pose = filmed.cameras[name][rows]
        velocity = None
        if later is not None and ids is not None:
            count = self.stage.model.ngeom
            geoms = filmed.geoms[rows, :count], later.geoms[rows, :count]
            pair = pose, later.cameras[name][rows]
            period_s = self.twin.control_period_s
            velocity = pixel_velocity(images.depth_m, ids, self._things.instances, geoms, pair, intrinsics, period_s)
        light_px = _towards_px(inverse(pose)[:, :3, :3] @ episode.dressed.towards_light, intrinsics)
        return Clip(
            camera=camera, intrinsics=intrinsics, ticks=episode.ticks[name], rgb=images.rgb, depth_m=images.depth_m,
            geom_ids=ids, camera_to_world=pose, things_to_world=filmed.things[rows], tool_to_world=filmed.tool[rows],
            pixel_velocity=velocity, light_px=light_px,
            half_extents_m=episode.dressed.half_extents_m,
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
