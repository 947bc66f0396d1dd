"""Snapshots: a few small images of an episode, taken alike on the robot and in the twin, for a diagnosis to compare.

The images are small because cameras differ in resolution, which must not look like a difference in sharpness.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from twinloop.dataset import Dataset
from twinloop.learn.pictures import shrink
from twinloop.observe.camera import CameraConfig
from twinloop.observe.image import sensed
from twinloop.observe.recording import PREFIX
from twinloop.observe.renderer import Renderer
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

MOMENTS = (0.0, 0.5)
"""Moments of an episode, as shares of its length: before anything moves, and in the middle."""
SIDE_PX = 64


def camera_names(cameras: Mapping[str, CameraConfig], datasets: Iterable[Dataset]) -> tuple[str, ...]:
    """Colour cameras that the twin and all of these logs have."""
    names = {PREFIX + name for name, camera in cameras.items() if camera.rgb}
    for dataset in datasets:
        names &= {feature.name for feature in dataset.header.pictures if feature.dtype == "video"}
    return tuple(sorted(names))


def logged(dataset: Dataset, attempt: int, length: int, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Camera -> (moments, side, side, 3) images of a logged episode."""
    rows = _rows(length)
    return {name: shrink(dataset.pictures(None, name, attempt=attempt, rows=rows), SIDE_PX) for name in names}


class Photographer:
    """Takes snapshots of simulated episodes with the named cameras of the config."""

    def __init__(self, twin: Twin, cameras: Mapping[str, CameraConfig], names: Iterable[str], *, seed: int):
        wanted = {name.removeprefix(PREFIX) for name in names}
        self._renderer = Renderer(twin, {name: cameras[name] for name in sorted(wanted)}) if wanted else None
        self._seed = seed

    def taken(self, episodes: Episodes, row: int) -> dict[str, np.ndarray]:
        if self._renderer is None or not episodes.lengths[row]:
            return {}
        values = {column: float(array[row]) for column, array in episodes.draws.values.items()}
        attempt, ticks = int(episodes.draws.attempts[row]), np.array(_rows(int(episodes.lengths[row])), float)
        return {
            PREFIX + name: shrink(sensed(clip, values, seed=self._seed, attempt=attempt, name=name).rgb, SIDE_PX)
            for name, clip in self._renderer.film(episodes, row, ticks=ticks).items()
        }


def _rows(length: int) -> list[int]:
    return [int(moment * (length - 1)) for moment in MOMENTS]
