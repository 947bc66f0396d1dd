"""Simulate a camera: from a rendered image to the image that a camera delivers, stage by stage.

lens distortion -> flare -> vignette -> exposure -> shutter and row readout -> defocus -> shot and read noise -> white
balance -> saturation of colours -> compression. Flare belongs to the lens, so it comes before the sensor. A stage whose
parameter is nominal changes no bit. Noise is a function of run seed, episode and camera.

Images are processed one after the other: one image fits into a core's cache, a whole clip does not.
"""

from dataclasses import replace

import numpy as np

from twinloop.observe.background import with_background
from twinloop.observe.clip import Clip
from twinloop.observe.compression import TO_YCC, compressed
from twinloop.observe.depth import sensed_depth
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.kernels import compiled
from twinloop.observe.lens import Flare, defocus_shares, defocused, through_lens, vignette
from twinloop.observe.noise import NormalStream, normal_values
from twinloop.observe.shutter import Shutter
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.imaging import ImageSettings

GAMMA = 2.2
_LINEAR = ((np.arange(256) / 255) ** GAMMA).astype(np.float32)

# The table from light to stored levels is indexed by the root of the light, of which levels are almost a linear
# function. So it is as fine in dark as in bright areas; its error is less than a fiftieth of a level.
_ROOTS = 1 << 14
_LEVELS = (255 * (np.arange(_ROOTS) / (_ROOTS - 1)) ** (2 / GAMMA)).astype(np.float32)

PART = 3 * 512
"""Numbers that the compiled read-out processes together; they fit into the fastest cache."""


def sensed(clip: Clip, values: Values, *, seed: int, attempt: int, name: str) -> Clip:
    """The clip after the camera model of camera `name`: image and depth."""
    settings = image_settings(values)
    if len(clip.ticks) == 0:
        return clip
    clip = through_lens(clip, settings.distortion)
    # A real picture has been through a real lens already.
    clip = with_background(clip, settings, seed=seed, attempt=attempt, name=name)
    # Images or depth that a camera does not store are not processed.
    rgb, depth_m = clip.rgb, clip.depth_m
    if clip.camera.rgb:
        rgb = _delivered(clip, settings, seed, attempt, name)
    if clip.camera.depth:
        depth_m = sensed_depth(clip, settings, rng=episode_rng(seed, attempt, stream=f"depth/{name}"))
    return replace(clip, rgb=rgb, depth_m=depth_m)


def _delivered(clip: Clip, settings: ImageSettings, seed: int, attempt: int, name: str) -> np.ndarray:
    rgb = clip.rgb
    if settings.changes_light:
        noise = NormalStream(episode_rng(seed, attempt, stream=f"image/{name}"))
        rgb = _developed(clip, settings, noise, episode_rng(seed, attempt, stream=f"image/{name}/others"))
    return compressed(rgb, settings.jpeg_quality)


def _developed(clip: Clip, settings: ImageSettings, noise: NormalStream, rng: np.random.Generator) -> np.ndarray:
    """(f, h, w, 3) uint8 after the stages that process light."""
    height, width = clip.rgb.shape[1:3]
    shutter = Shutter(height, width, settings.open_s, settings.readout_s)
    veil = Flare(clip.light_px, settings.flare, clip.intrinsics, height, width)
    gain = np.float32(settings.exposure) * vignette(height, width, settings.corner_loss)
    # A shift of white balance multiplies the light, and so multiplies the stored value by its root.
    balance = (np.array(settings.balance) ** (1 / GAMMA)).astype(np.float32)
    out = np.empty_like(clip.rgb)
    kernels = compiled()
    # There is no compiled version of stages that a plug-in adds.
    if kernels is not None and not settings.on_light and not settings.on_levels:
        moves = clip.pixel_velocity is not None
        velocity = clip.pixel_velocity if clip.pixel_velocity is not None else np.zeros((1, 1, 1, 2), np.float32)
        shares = defocus_shares(settings.blur_px) if settings.blur_px > 0 else np.ones(1, np.float32)
        light, other, vertical = np.empty((3, height, 3 * width), np.float32)
        kernels.develop(
            np.ascontiguousarray(clip.rgb).reshape(len(out), -1), _LINEAR, settings.flare > 0, veil.x, veil.y,
            veil.lamps, veil.ghosts, veil.tints, np.empty(light.size, np.float32), gain.reshape(-1), moves,
            np.ascontiguousarray(velocity), *shutter.settings(), np.zeros(1, np.uint8), settings.blur_px > 0, shares,
            np.empty(3 * (width + len(shares)), np.float32), normal_values(), noise.keys,
            settings.shot_noise != 0 or settings.read_levels != 0, settings.shot_noise, settings.read_levels,
            _ROOTS - 1, _LEVELS, balance, TO_YCC[0], settings.saturation, np.empty((2, PART), np.float32), light,
            light.reshape(-1), other, other.reshape(-1), vertical, out.reshape(len(out), -1),
        )  # fmt: skip
        return out
    for frame, picture in enumerate(clip.rgb):
        light = _LINEAR.take(picture)
        if settings.flare > 0:
            light += veil.of(frame)
        light *= gain[..., None]
        if clip.pixel_velocity is not None:
            light = shutter.exposed(light, clip.pixel_velocity[frame])
        if settings.blur_px > 0:
            light = defocused(light, settings.blur_px)
        for on_light in settings.on_light:
            light = on_light(light, frame, rng)
        # A sensor saturates before read noise is added.
        np.clip(light, 0, 1, out=light)
        levels = read_out(light, settings.shot_noise, settings.read_levels, noise)
        _scale_channels(levels, balance)
        if settings.saturation != 1:
            levels = saturated(levels, settings.saturation)
        for on_levels in settings.on_levels:
            levels = on_levels(levels, frame, rng)
        np.rint(levels, out=levels)
        np.clip(levels, 0, 255, out=levels)
        out[frame] = levels
    return out


def read_out(light: np.ndarray, shot: float, read_levels: float, noise: NormalStream) -> np.ndarray:
    """Levels, 0 to 255, of light, 0 to 1, with noise.

    Photon noise grows with the root of the light. Read noise is the same everywhere in the stored image. Both are
    always drawn if one is on, so that switching one on does not change the noise of the other.
    """
    if shot == 0 and read_levels == 0:
        return _levels(np.sqrt(light))
    photons, reading = noise.normal_pairs(*light.shape)
    photons *= np.float32(shot)
    photons *= np.sqrt(light)
    photons += light
    np.clip(photons, 0, 1, out=photons)
    levels = _levels(np.sqrt(photons, out=photons))
    reading *= np.float32(read_levels)
    levels += reading
    return levels


def saturated(levels: np.ndarray, scale: float) -> np.ndarray:
    """Colours `scale` times as far from the grey of the same luma."""
    red, green, blue = (levels[..., channel] * TO_YCC[0, channel] for channel in range(3))
    grey = (red + green + blue)[..., None]
    return grey + np.float32(scale) * (levels - grey)


def _scale_channels(levels: np.ndarray, factors: np.ndarray) -> None:
    # One channel after the other: NumPy is slow over a short last axis.
    for channel, factor in enumerate(factors):
        levels[..., channel] *= factor


def _levels(root: np.ndarray) -> np.ndarray:
    """Levels for the root of the light. The input array is overwritten."""
    root *= np.float32(_ROOTS - 1)
    np.rint(root, out=root)
    return _LEVELS.take(root.astype(np.uint16), mode="clip")
