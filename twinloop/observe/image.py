"""From what was drawn to what a camera would have delivered, in the order in which light meets it.

lens distortion -> flare -> vignette -> exposure -> shutter and row readout -> shot and read noise -> white balance ->
compression. Flare is the lens's and so comes before the sensor. Every stage leaves its input as it is, to the bit, when
its parameter is nominal. Noise is the episode's own: a function of run seed, episode and camera.
"""

from dataclasses import replace

import numpy as np

from twinloop.observe.appearance import Values
from twinloop.observe.clip import Clip
from twinloop.observe.compression import compressed
from twinloop.observe.depth import sensed_depth
from twinloop.observe.lens import flare, through_lens, vignette
from twinloop.observe.shutter import exposed
from twinloop.randomize.draw import episode_rng

GAMMA = 2.2
_LINEAR = ((np.arange(256) / 255) ** GAMMA).astype(np.float32)

IN_THE_LIGHT = {
    "lens_flare": 0.0, "vignette": 0.0, "exposure_ev": 0.0, "shutter_ms": 0.0, "rolling_shutter_ms": 0.0,
    "shot_noise": 0.0, "read_noise": 0.0, "white_balance_shift.red": 0.0, "white_balance_shift.blue": 0.0,
}  # fmt: skip
"""The stages that work on light, not on stored values, and the value at which each is off."""


def sensed(clip: Clip, values: Values, *, seed: int, attempt: int, name: str) -> Clip:
    """The clip as camera `name` delivers it: picture and depth."""
    clip = through_lens(clip, values["lens_distortion"])
    # Of a camera that stores no picture, none is made: it stays as it was drawn.
    rgb = _delivered(clip, values, seed, attempt, name) if clip.camera.rgb else clip.rgb
    depth_m = sensed_depth(clip, values, rng=episode_rng(seed, attempt, stream=f"depth/{name}"))
    return replace(clip, rgb=rgb, depth_m=depth_m)


def _delivered(clip: Clip, values: Values, seed: int, attempt: int, name: str) -> np.ndarray:
    rgb = clip.rgb
    if any(values[column] != off for column, off in IN_THE_LIGHT.items()):
        rgb = _stored(_light_stages(clip, values, episode_rng(seed, attempt, stream=f"image/{name}")))
    return compressed(rgb, values["compression_quality"])


def _light_stages(clip: Clip, values: Values, rng: np.random.Generator) -> np.ndarray:
    light = _LINEAR[clip.rgb]
    light = flare(light, clip.light_px, values["lens_flare"], clip.intrinsics)
    light = vignette(light, values["vignette"])
    light = light * np.float32(2.0 ** values["exposure_ev"])
    if clip.pixel_velocity is not None:
        light = exposed(
            light, clip.pixel_velocity,
            shutter_s=values["shutter_ms"] / 1000, readout_s=values["rolling_shutter_ms"] / 1000,
        )  # fmt: skip
    # A sensor saturates before its noise is read out with the signal.
    light = noisy(np.clip(light, 0, 1), values["shot_noise"], values["read_noise"], rng=rng)
    red, blue = values["white_balance_shift.red"], values["white_balance_shift.blue"]
    return light * np.array([1 + red, 1, 1 + blue], np.float32)


def noisy(light: np.ndarray, shot: float, read_levels: float, *, rng: np.random.Generator) -> np.ndarray:
    """Photon noise grows with the root of the light; read noise is the same everywhere in the stored picture.

    Both normals are always drawn, so that switching one kind on leaves the other's noise as it was.
    """
    if shot == 0 and read_levels == 0:
        return light
    photons, reading = (rng.standard_normal(light.shape, dtype=np.float32) for _ in range(2))
    light = np.maximum(light + np.float32(shot) * np.sqrt(light) * photons, 0)
    if read_levels == 0:
        return light
    value = light ** np.float32(1 / GAMMA) + np.float32(read_levels / 255) * reading
    return np.maximum(value, 0) ** np.float32(GAMMA)


def _stored(light: np.ndarray) -> np.ndarray:
    return np.round(255 * np.clip(light, 0, 1) ** np.float32(1 / GAMMA)).astype(np.uint8)
