"""Painter: draws views of a dressed stage. It owns the shapes, textures and framebuffers on the graphics device."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.observe.camera import CameraConfig
from twinloop.observe.drawn_frames import CODES, DrawnFrames, unpack
from twinloop.observe.drawn_geoms import GeomShapes, drawn_geoms, place_textures, stack_for
from twinloop.observe.frame_batch import Look, Views, batch_of, look_of
from twinloop.observe.gl import context
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.quality import RenderQuality
from twinloop.observe.rasterizer import Rasterizer
from twinloop.observe.soft_surface import SoftSurface
from twinloop.observe.stage import Stage

CHUNK = 32
CHUNK_PX = 1 << 20
"""Frames that are drawn together, and their pixels. More need more memory and are not faster."""


@dataclass(frozen=True)
class CameraView:
    """Frames of one camera in one episode.

    Attributes:
        geoms_to_world: (s, g, 4, 4) poses of geoms and soft objects in every state of the episode.
        soft_m: (s, v, 3) vertices of all soft objects; None without any.
        camera_to_world: (f, 4, 4) pose of the camera in each frame; x right, y down, z forward.
        states: (f,) state that each frame shows.
    """

    camera: CameraConfig
    look: Look
    geoms_to_world: np.ndarray
    soft_m: np.ndarray | None
    camera_to_world: np.ndarray
    states: np.ndarray
    fov_deg: float


class Painter:
    def __init__(self, stage: Stage, quality: RenderQuality):
        context().make_current()
        self._stage, self._quality = stage, quality
        self._shapes = GeomShapes(stage.model, quality)
        self._textures = stack_for(stage, CHUNK, blended=quality.blended_textures)
        self._rasterizer = Rasterizer(self._shapes.shapes, quality)
        self._codes, self._geom_of = _codes(stage)
        model = stage.model
        self._soft = tuple(SoftSurface(model, flex) for flex in range(model.nflex))
        # Pixels of a soft object count as pixels of its geom, which is not drawn.
        owners = {
            index.soft.flex: int(geoms[0])
            for index, geoms in zip(stage.twin.things, stage.geoms, strict=True)
            if index.soft is not None
        }
        self._codes = np.append(self._codes, [self._codes[owners[flex]] for flex in range(model.nflex)])

    def look(self, values: Values) -> Look:
        """The look of the stage after `dress` with these values."""
        material = round(image_settings(values).material)
        geoms = drawn_geoms(self._stage, self._shapes, material)
        return look_of(self._stage, geoms, mirrors=self._quality.mirrors)

    def paint(self, views: Sequence[CameraView]) -> list[DrawnFrames]:
        """Images of every view. Views of one size are drawn together."""
        context().make_current()
        sizes: dict[tuple[int, int], list[int]] = {}
        for number, view in enumerate(views):
            sizes.setdefault((view.camera.width, view.camera.height), []).append(number)
        images: dict[int, DrawnFrames] = {}
        for (width, height), numbers in sizes.items():
            drawn = self._paint([views[number] for number in numbers], width, height)
            images |= dict(zip(numbers, drawn, strict=True))
        return [images[number] for number in range(len(views))]

    def _paint(self, views: list[CameraView], width: int, height: int) -> list[DrawnFrames]:
        # Poses of an episode that several cameras see are there once, so that they share shadow maps.
        starts: dict[int, int] = {}
        poses, soft = [], []
        for view in views:
            if id(view.geoms_to_world) not in starts:
                starts[id(view.geoms_to_world)] = sum(map(len, poses))
                poses.append(view.geoms_to_world)
                soft.append(view.soft_m)
        states = np.concatenate([view.states + starts[id(view.geoms_to_world)] for view in views])
        owner = np.concatenate([np.full(len(view.states), number) for number, view in enumerate(views)])
        cameras = np.concatenate([view.camera_to_world for view in views])
        everything, soft_m = np.concatenate(poses), np.concatenate(soft) if self._soft else None
        frames = DrawnFrames.empty(len(states), height, width)
        order = np.argsort(states, kind="stable")
        fine = self._quality.supersampling
        together = max(1, min(CHUNK, CHUNK_PX // (width * height * fine * fine)))
        for start in range(0, len(order), together):
            chosen = order[start : start + together]
            chunk = Views(
                tuple(views[number].look for number in owner[chosen]),
                states[chosen], everything, soft_m, cameras[chosen],
                np.array([views[number].fov_deg for number in owner[chosen]]), width, height,
            )  # fmt: skip
            for look in {id(look): look for look in chunk.looks}.values():
                place_textures(look.geoms, self._stage.model, self._textures)
            batch = batch_of(
                chunk, self._codes, shadows=self._quality.shadow_px > 0, soft=self._soft,
                coarse=self._shapes.coarse,
            )  # fmt: skip
            drawn = self._rasterizer.draw(batch, self._textures.texture, width * fine, height * fine)
            unpack(*(drawn if fine == 1 else _averaged(*drawn, fine)), self._geom_of, chosen, frames)
        return frames.split(np.cumsum([len(view.states) for view in views])[:-1])


def _averaged(rgba: np.ndarray, stored: np.ndarray, fine: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of `fine` times the size in their own size: mean colours, and mask and depth of the middle sample."""
    frames, height, width, channels = rgba.shape
    blocks = rgba.reshape(frames, height // fine, fine, width // fine, fine, channels)
    total = blocks.sum(axis=(2, 4), dtype=np.uint16)
    out = ((total + fine * fine // 2) // (fine * fine)).astype(np.uint8)
    middle = fine // 2
    out[..., 3] = rgba[:, middle::fine, middle::fine, 3]
    return out, stored[:, middle::fine, middle::fine]


def _codes(stage: Stage) -> tuple[np.ndarray, np.ndarray]:
    """Code of each geom, from 1, and geom of each code. With more than 255 geoms, those of a body share a code."""
    model = stage.model
    groups = np.arange(model.ngeom) if model.ngeom <= 255 else model.geom_bodyid
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    geom_of = np.full(CODES, -1, np.int16)
    # More bodies than codes cannot be told apart.
    geom_of[1 : len(first) + 1] = first[: CODES - 1]
    return number + 1, geom_of
