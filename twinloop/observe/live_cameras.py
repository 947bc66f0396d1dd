"""LiveCameras: current images of every slot, for a policy that acts on them.

An image is rendered on request from the states so far, with the renderer, lens and sensor of a recording. It is equal
to the recorded image, pixel for pixel, with three exceptions:
- Sensor noise has the same strength but other values, because a recording draws the noise of a whole video at once.
- The image of the current moment has no motion blur, because blur needs the motion that follows.
- Images of a dataset have passed through a video codec.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from twinloop.errors import UsageError
from twinloop.observe.camera import CameraConfig, Label
from twinloop.observe.clip import Clip
from twinloop.observe.image import sensed
from twinloop.observe.live_sensors import TRUE
from twinloop.observe.moments import picture_ticks
from twinloop.observe.pictures import DEPTH, PREFIX
from twinloop.observe.renderer import FilmRequest, Renderer
from twinloop.observe.truth import label_name
from twinloop.randomize.draw import Draws
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes, channels_of
from twinloop.twin.twin import Twin

MASKS: tuple[Label, ...] = ("instances", "classes")
DRAWN = ("position", "environment", "nodes")  # channels that a renderer reads, if they exist

Moment = tuple[float, ...]
"""When each camera took its last image, in control periods."""


def _moment(request: FilmRequest) -> Moment:
    return tuple(float(ticks[0]) for ticks in (request.ticks or {}).values())


class LiveCameras:
    """Live images for these features of a config's cameras."""

    def __init__(
        self, twin: Twin, cameras: Mapping[str, CameraConfig], features: tuple[str, ...], *, width: int, seed: int
    ):
        self.twin, self.seed, self.features = twin, seed, features
        seen = {PREFIX + name + kind: name for name in cameras for kind in ("", DEPTH)}
        seen |= {
            label_name(name, label): name
            for name, camera in cameras.items()
            for label in camera.labels
            if label in MASKS
        }
        for feature in features:
            if feature not in seen:
                raise UsageError(f"{feature}: is not an image of a camera; train the policy without this input")
        wanted = {seen[feature] for feature in features}
        self.renderer = Renderer(twin, {name: cameras[name] for name in wanted})
        self._channels = channels_of(twin)
        size = max(part.stop for part in self._channels.values())
        self._past = np.zeros((width, twin.longest_ticks + 1, size), np.float32)
        self._ticks = np.full(width, -1)
        self._slots = np.arange(width)
        self._draws: dict[int, Draws] = {}
        self._images: dict[int, tuple[Moment, dict[str, np.ndarray]]] = {}

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:
        self._ticks[ids] = -1
        for slot in ids:
            self._images.pop(int(slot), None)
        for slot, row in zip(ids, rows, strict=True):
            values = {column: array[row : row + 1] for column, array in draws.values.items()}
            self._draws[int(slot)] = replace(draws, attempts=draws.attempts[row : row + 1], values=values)

    def note(self, cell: Cell) -> None:
        """Store the current state. Call once in each control period."""
        self._ticks = np.minimum(self._ticks + 1, self.twin.longest_ticks)
        for channel in set(DRAWN) & set(self._channels):
            self._past[self._slots, self._ticks, self._channels[channel]] = TRUE[channel](cell)

    def look(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Feature -> images of these slots: (n, height, width, 3) uint8, or (n, height, width) metres or ids.

        The frames of all slots are drawn together. A slow camera shows its last image until the next one is due.
        """
        slots = [int(slot) for slot in ids]
        requests = {slot: self._request(slot) for slot in slots}
        moments = {slot: _moment(request) for slot, request in requests.items()}
        due = [slot for slot in slots if slot not in self._images or self._images[slot][0] != moments[slot]]
        if due:
            for slot, clips in zip(due, self.renderer.film_together([requests[slot] for slot in due]), strict=True):
                self._images[slot] = moments[slot], self._sensed(slot, clips)
        return {name: np.stack([self._images[slot][1][name] for slot in slots]) for name in self.features}

    def _request(self, slot: int) -> FilmRequest:
        length = int(self._ticks[slot]) + 1
        no = np.zeros(1, bool)
        so_far = Episodes(
            self._draws[slot], self._channels, np.array([length]), self._past[slot, :length], no, no, no, np.zeros(1)
        )
        last = {
            name: picture_ticks(length, control_hz=self.twin.control_hz, rate_hz=camera.rate_hz)[-1:]
            for name, camera in self.renderer.cameras.items()
        }
        return FilmRequest(so_far, 0, last)

    def _sensed(self, slot: int, clips: Mapping[str, Clip]) -> dict[str, np.ndarray]:
        draws = self._draws[slot]
        values = {column: float(array[0]) for column, array in draws.values.items()}
        attempt, images = int(draws.attempts[0]), {}
        for name, clip in clips.items():
            # Every tick has its own noise; otherwise the noise would be the same in every image.
            stream = f"{name}/{float(clip.ticks[0])}"
            picture = sensed(clip, values, seed=self.seed, attempt=attempt, name=stream)
            images |= {PREFIX + name: picture.rgb[0], PREFIX + name + DEPTH: picture.depth_m[0]}
            for label in MASKS:
                if label_name(name, label) in self.features:
                    ids = picture.instance_ids if label == "instances" else picture.class_ids
                    images[label_name(name, label)] = ids[0].astype(np.uint8)
        return {name: images[name] for name in self.features}
