"""Strips: images of a camera for values of a row from low to high, at the time with the largest difference."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from twinloop.observe.camera import CameraConfig
from twinloop.observe.clip import Clip
from twinloop.observe.image import sensed
from twinloop.observe.image_settings import image_settings
from twinloop.observe.lens import through_lens
from twinloop.observe.renderer import Renderer
from twinloop.run.effect import RowEffect

TILE_PX = 96
NOTICEABLE_LEVELS = 10
LEAST_SHARE = 0.002
"""Smallest share of pixels with a visible difference that counts."""

FULL_COLOUR_M = 0.006


@dataclass(frozen=True)
class Strip:
    """A strip of images.

    Attributes:
        camera: pose and resolution.
        moments: times to choose from, as shares of the episode.
        of_depth: show the error of depth instead of the image.
    """

    camera: CameraConfig
    moments: tuple[float, ...]
    of_depth: bool = False


def _camera(position_m, look_at_m, fov_deg: float, pixels: int) -> CameraConfig:
    return CameraConfig("fixed", position_m, look_at_m, fov_deg, pixels, pixels, 25, depth=True)


FRONT_M, MIDDLE_M = (1.2, -0.3, 0.65), (0.42, -0.03, 0.12)
THROUGHOUT = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
CLOSE = _camera((0.95, -0.45, 0.4), (0.46, -0.08, 0.06), 30.0, TILE_PX // 2)

STRIPS: Mapping[str, Strip] = {
    "cell": Strip(_camera(FRONT_M, MIDDLE_M, 46.0, TILE_PX), THROUGHOUT),
    "start": Strip(_camera(FRONT_M, (0.46, 0.02, 0.02), 30.0, TILE_PX), (0.0,)),
    "object": Strip(_camera((0.85, -0.4, 0.35), (0.46, -0.13, 0.02), 18.0, TILE_PX), (0.0,)),
    "person": Strip(_camera((1.3, -0.35, 0.75), (0.5, 0.12, 0.12), 46.0, TILE_PX), THROUGHOUT),
    "pixels": Strip(CLOSE, THROUGHOUT),
    "depth": Strip(CLOSE, THROUGHOUT, of_depth=True),
}


class StripRenderer:
    """Renders strips. It caches one renderer per kind of cell, because creating one is slow."""

    def __init__(self) -> None:
        self._renderers: dict[object, Renderer] = {}

    def tiles(self, effect: RowEffect, strip: Strip) -> tuple[list[np.ndarray], float]:
        """A (96, 96, 3) image for each value, and the share of differing pixels in units of LEAST_SHARE."""
        best, most = [], -1.0
        renderer = self._renderer(effect, strip)
        for moment in strip.moments:
            # The middle is compared too, because a row that turns a full circle has equal ends.
            low, middle, high = (
                self._picture(effect, renderer, strip, number, moment)
                for number in (0, (len(effect.values) - 1) // 2, len(effect.values) - 1)
            )
            share = max(_differing(low, high), _differing(low, middle))
            if share > most:
                best, most = [moment], share
        tiles = [self._picture(effect, renderer, strip, number, best[0]) for number in range(len(effect.values))]
        scale = TILE_PX // strip.camera.width
        return [tile.repeat(scale, axis=0).repeat(scale, axis=1) for tile in tiles], most / LEAST_SHARE

    def _renderer(self, effect: RowEffect, strip: Strip) -> Renderer:
        # Visual rows share one cell. Any other row may change it.
        key = (strip.camera, "" if effect.row.group == "visual" else effect.row.name)
        if key not in self._renderers:
            camera = replace(strip.camera, rate_hz=effect.twin.control_hz)
            self._renderers[key] = Renderer(effect.twin, {"camera": camera})
        return self._renderers[key]

    def _picture(self, effect: RowEffect, renderer: Renderer, strip: Strip, number: int, moment: float) -> np.ndarray:
        last = int(effect.episodes.lengths[number]) - 1
        # The time is a share of the shortest episode, so that all images are of the same time.
        shortest = int(effect.episodes.lengths[effect.episodes.lengths > 0].min()) - 1
        tick = np.array([min(round(moment * shortest), last)])
        clip = renderer.film(effect.episodes, number, ticks=tick)["camera"]
        drawn, attempt = effect.drawn(number), int(effect.episodes.draws.attempts[number])
        seen = sensed(clip, drawn, seed=effect.config.rollout.seed, attempt=attempt, name="camera")
        if strip.of_depth:
            return _depth_error(seen, through_lens(clip, image_settings(drawn).distortion))
        return seen.rgb[0]


def _depth_error(seen: Clip, truth: Clip) -> np.ndarray:
    """The error of depth as an image: grey is right, red too far, blue too near, black no depth."""
    error = np.clip((seen.depth_m[0] - truth.depth_m[0]) / FULL_COLOUR_M, -1, 1)[..., None]
    colours = np.where(error > 0, (224, 60, 40), (40, 90, 224))
    image = (1 - np.abs(error)) * 205 + np.abs(error) * colours
    image[seen.depth_m[0] <= 0] = 0
    return np.round(image).astype(np.uint8)


def _differing(first: np.ndarray, second: np.ndarray) -> float:
    """Share of the pixels that noticeably differ."""
    return float((np.abs(first.astype(int) - second).max(axis=2) > NOTICEABLE_LEVELS).mean())
