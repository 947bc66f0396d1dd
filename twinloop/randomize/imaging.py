"""ImageSettings: what an episode's images look like. Rows of the table change it; cameras and the stage read it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

OnFrame = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]
"""((h, w, 3) float32 image, number of the frame, generator of this camera and episode) -> image."""


@dataclass
class ImageSettings:
    """The defaults are a scene and a camera as the config describes them, without errors.

    Attributes:
        material: number of the procedural material; 0 for plain colours.
        lamps: number of lights; their turn and elevation off their places, their brightness, colour and softness.
        sun_hour: solar time, 0 for night; heading of the room; strength against a clear sky.
        room_shade: brightness of floor and walls. table_mirror, floor_mirror, gloss: reflection of surfaces.
        hidden_share: share of the object that an occluder hides; its side, width and distance.
        camera_turn_deg, camera_shift_m, fov_shift_deg: pitch, yaw, roll; x, y, z; of every camera against its config.
        distortion, flare, corner_loss: of the lens.
        exposure: factor of the light. open_s, readout_s: of the shutter. blur_px: deviation of a point's image.
        shot_noise, read_levels: noise at white as a share of white, and in the dark in levels of 255.
        balance: gain of red, green and blue. saturation: distance of colours from grey. jpeg_quality: 100 for none.
        depth_step_mm, depth_jitter_px, depth_holes: errors of depth cameras.
        on_light: functions of other packages on light from 0 to 1, before the sensor saturates.
        on_levels: functions of other packages on levels from 0 to 255, before they are stored.
    """

    material: float = 0.0
    lamps: float = 2.0
    lamp_turn_deg: float = 0.0
    lamp_raise_deg: float = 0.0
    brightness: float = 1.0
    warmth: float = 0.0
    softness: float = 0.0
    sun_hour: float = 0.0
    sun_heading_deg: float = 0.0
    sun_strength: float = 1.0
    room_shade: float = 1.0
    table_mirror: float = 0.0
    floor_mirror: float = 0.0
    gloss: float = 0.0
    hidden_share: float = 0.0
    hidden_from_deg: float = 0.0
    occluder_width_m: float = 0.06
    occluder_at_share: float = 0.35
    camera_turn_deg: tuple[float, ...] = (0.0, 0.0, 0.0)
    camera_shift_m: tuple[float, ...] = (0.0, 0.0, 0.0)
    fov_shift_deg: float = 0.0
    distortion: float = 0.0
    flare: float = 0.0
    corner_loss: float = 0.0
    exposure: float = 1.0
    open_s: float = 0.0
    readout_s: float = 0.0
    blur_px: float = 0.0
    shot_noise: float = 0.0
    read_levels: float = 0.0
    balance: tuple[float, ...] = (1.0, 1.0, 1.0)
    saturation: float = 1.0
    jpeg_quality: float = 100.0
    depth_step_mm: float = 0.0
    depth_jitter_px: float = 0.0
    depth_holes: float = 0.0
    on_light: list[OnFrame] = field(default_factory=list)
    on_levels: list[OnFrame] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """True if the shutter shows motion."""
        return self.open_s > 0 or self.readout_s > 0

    @property
    def changes_light(self) -> bool:
        """True if any stage between lens and compression is on."""
        return any(getattr(self, name) != off for name, off in _OFF.items())


_LIGHT_STAGES = (
    "flare", "corner_loss", "exposure", "open_s", "readout_s", "blur_px", "shot_noise", "read_levels", "balance",
    "saturation", "on_light", "on_levels",
)  # fmt: skip
_OFF = {name: getattr(ImageSettings(), name) for name in _LIGHT_STAGES}

OnImage = Callable[[ImageSettings, np.ndarray], None]
"""(settings, values) changes the settings of one episode, for a number or (elements,) values of the row."""


def sets(name: str, scale: float = 1.0) -> OnImage:
    """A function that sets one setting to the row's value, divided by `scale`."""

    def act(settings: ImageSettings, value: np.ndarray) -> None:
        setattr(settings, name, float(value) / scale if scale != 1 else float(value))

    return act


def sets_each(name: str, scale: float = 1.0) -> OnImage:
    """The same for a row with several elements."""

    def act(settings: ImageSettings, values: np.ndarray) -> None:
        setattr(settings, name, tuple(float(value) / scale if scale != 1 else float(value) for value in values))

    return act
