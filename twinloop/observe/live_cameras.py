"""LiveCameras: current images of every slot, for a policy that acts on them.

A picture is drawn when it is asked for, from what was there up to now, by the renderer and through the lens and the
sensor of a recording. It is the recorded one, pixel for pixel, but for three things. Noise of a camera's sensor is as
strong, not the same: a recording draws that of a whole film at once. Blur follows motion that a recording knows and
the present does not, so the picture of this very moment has none. And a dataset's pictures have gone through a video
codec.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from twinloop.errors import UsageError
from twinloop.observe.camera import CameraConfig
from twinloop.observe.image import sensed
from twinloop.observe.live_sensors import TRUE
from twinloop.observe.moments import picture_ticks
from twinloop.observe.pictures import DEPTH, PREFIX
from twinloop.observe.renderer import Renderer
from twinloop.randomize.draw import Draws
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes, channels_of
from twinloop.twin.twin import Twin

DRAWN = ("position", "environment", "nodes")  # the channels that a renderer reads, of those there are


class LiveCameras:
    """Live images for these features of a config's cameras."""

    def __init__(
        self, twin: Twin, cameras: Mapping[str, CameraConfig], features: tuple[str, ...], *, width: int, seed: int
    ):
        self.twin, self.seed, self.features = twin, seed, features
        seen = {PREFIX + name + kind: name for name in cameras for kind in ("", DEPTH)}
        for feature in features:
            if feature not in seen:
                raise UsageError(f"{feature}: is the truth, not what a camera sees; a policy that reads it cannot act")
        wanted = {seen[feature] for feature in features}
        self.renderer = Renderer(twin, {name: cameras[name] for name in wanted})
        self._channels = channels_of(twin)
        size = max(part.stop for part in self._channels.values())
        self._past = np.zeros((width, twin.longest_ticks + 1, size), np.float32)
        self._ticks = np.full(width, -1)
        self._slots = np.arange(width)
        self._draws: dict[int, Draws] = {}

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self._ticks[ids] = -1
        for slot, row in zip(ids, rows, strict=True):
            values = {column: array[row : row + 1] for column, array in draws.values.items()}
            self._draws[int(slot)] = replace(draws, attempts=draws.attempts[row : row + 1], values=values)

    def note(self, cell: Cell) -> None:
        """Store the current state. Call once in each control period."""
        self._ticks = np.minimum(self._ticks + 1, self.twin.longest_ticks)
        for channel in set(DRAWN) & set(self._channels):
            self._past[self._slots, self._ticks, self._channels[channel]] = TRUE[channel](cell)

    def look(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Feature -> images of these slots: (n, height, width, 3) uint8, or (n, height, width) metres."""
        seen: dict[str, list[np.ndarray]] = {name: [] for name in self.features}
        # One after the other: that is how a graphics context draws.
        for slot in map(int, ids):
            for name, picture in self._look(slot).items():
                seen[name].append(picture)
        return {name: np.stack(pictures) for name, pictures in seen.items()}

    def _look(self, slot: int) -> dict[str, np.ndarray]:
        draws, length = self._draws[slot], int(self._ticks[slot]) + 1
        no = np.zeros(1, bool)
        so_far = Episodes(draws, self._channels, np.array([length]), self._past[slot, :length], no, no, no, np.zeros(1))
        values = {column: float(array[0]) for column, array in draws.values.items()}
        attempt = int(draws.attempts[0])
        found = {}
        for tick, cameras in self._pictured(length).items():
            for name, clip in self.renderer.film(so_far, 0, ticks=np.array([tick])).items():
                if name in cameras:
                    # Noise of its own for every moment, or it would stand still.
                    picture = sensed(clip, values, seed=self.seed, attempt=attempt, name=f"{name}/{tick}")
                    found |= {PREFIX + name: picture.rgb[0], PREFIX + name + DEPTH: picture.depth_m[0]}
        return {name: found[name] for name in self.features}

    def _pictured(self, length: int) -> dict[float, list[str]]:
        """The moment, in control periods, of the picture that is shown now -> the cameras it is of."""
        moments: dict[float, list[str]] = {}
        for name, camera in self.renderer.cameras.items():
            last = picture_ticks(length, control_hz=self.twin.control_hz, rate_hz=camera.rate_hz)[-1]
            moments.setdefault(float(last), []).append(name)
        return moments
