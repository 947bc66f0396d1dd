"""Simulate a camera: from a rendered image to the image that a camera delivers, stage by stage.

lens distortion -> flare -> vignette -> exposure -> shutter and row readout -> defocus -> shot and read noise -> white
balance -> saturation of colours -> compression. Flare belongs to the lens, so it comes before the sensor. A stage whose
parameter is nominal changes no bit. Noise is a function of run seed, episode and camera.

Images are processed one after the other: one image fits into a core's cache, a whole clip does not.
"""

from dataclasses import replace
from types import ModuleType

import numpy as np

from twinloop.observe.background import with_background
from twinloop.observe.clip import Clip
from twinloop.observe.compression import TO_YCC, compressed
from twinloop.observe.depth import sensed_depth
from twinloop.observe.image_settings import Values, image_settings
from twinloop.observe.kernels import compiled
from twinloop.observe.lens import Flare, defocused, through_lens, vignette
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


_NO_NUMBERS = np.zeros((1, 3), np.uint16)


def sensed(clip: Clip, values: Values, *, seed: int, attempt: int, name: str) -> Clip:
    """The clip after the camera model of camera `name`: image and depth."""
    settings = image_settings(values)
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
    gain = gain[..., None].repeat(3, axis=2)
    # A shift of white balance multiplies the light, and so multiplies the stored value by its root.
    balance = (np.array(settings.balance) ** (1 / GAMMA)).astype(np.float32)
    out = np.empty_like(clip.rgb)
    # Numba has no version of stages that a plug-in adds.
    compiled_stages = None if settings.on_light or settings.on_levels else compiled()
    if compiled_stages is not None:
        light = np.empty(clip.rgb.shape[1:], np.float32)
        for frame, picture in enumerate(clip.rgb):
            flared = settings.flare > 0
            veil_light = veil.of(frame) if flared else gain
            compiled_stages.incident(
                picture.reshape(-1), _LINEAR, veil_light.reshape(-1), flared, gain.reshape(-1), light.reshape(-1)
            )
            exposed = light
            if clip.pixel_velocity is not None:
                exposed = shutter.exposed(light, clip.pixel_velocity[frame])
            if settings.blur_px > 0:
                exposed = defocused(exposed, settings.blur_px)
            _compiled_read_out(compiled_stages, exposed, settings, noise, balance, out[frame])
        return out
    for frame, picture in enumerate(clip.rgb):
        light = _LINEAR.take(picture)
        if settings.flare > 0:
            light += veil.of(frame)
        light *= gain
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


def _compiled_read_out(
    stages: ModuleType, light: np.ndarray, settings: ImageSettings, noise: NormalStream, balance: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """The stages from saturation to rounding, with Numba."""
    noisy = settings.shot_noise != 0 or settings.read_levels != 0
    # The order of the two draws is that of `read_out`.
    photons = noise.numbers(*light.shape) if noisy else _NO_NUMBERS
    reading = noise.numbers(*light.shape) if noisy else _NO_NUMBERS
    stages.read_out(
        light.reshape(-1), normal_values(), photons.reshape(-1), reading.reshape(-1), noisy,
        np.float32(settings.shot_noise), np.float32(settings.read_levels), np.float32(_ROOTS - 1), _LEVELS, balance,
        TO_YCC[0], np.float32(settings.saturation), out.reshape(-1),
    )  # fmt: skip


def read_out(light: np.ndarray, shot: float, read_levels: float, noise: NormalStream) -> np.ndarray:
    """Levels, 0 to 255, of light, 0 to 1, with noise.

    Photon noise grows with the root of the light. Read noise is the same everywhere in the stored image. Both are
    always drawn if one is on, so that switching one on does not change the noise of the other.
    """
    if shot == 0 and read_levels == 0:
        return _levels(np.sqrt(light))
    photons, reading = noise.normals(*light.shape), noise.normals(*light.shape)
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
