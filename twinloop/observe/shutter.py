"""The shutter: how long it is open, and that rows are read one after the other.

Each pixel is averaged along its own known path over the opening time. Averaging neighbouring pictures instead would
show two or three separate ghosts, since a shutter of a few milliseconds lies inside one control period; and drawing
many pictures a frame would cost as many times the rendering. The path is straight and taken where the pixel is at
the middle of the exposure, which holds for the few pixels that things move in one.
"""

import numpy as np

from twinloop.observe.sampling import bilinear

MOST_SAMPLES = 9
WIDEST_PX = 12


def exposed(light: np.ndarray, velocity: np.ndarray, *, shutter_s: float, readout_s: float) -> np.ndarray:
    """(f, h, w, c) light gathered from the (f, h, w, 2) pixels a second at which everything moves."""
    if shutter_s == 0 and readout_s == 0:
        return light
    height, width = light.shape[1:3]
    longest_s = shutter_s / 2 + readout_s / 2
    reach = float(np.abs(velocity).max(initial=0)) * longest_s
    moving = _spread(velocity, min(int(np.ceil(reach)), WIDEST_PX))
    u, v = np.arange(width)[None, None, :] + 0.5, np.arange(height)[None, :, None] + 0.5
    row_s = (v / height - 0.5) * readout_s
    blur = float(np.abs(velocity).max(initial=0)) * shutter_s
    samples = 1 if blur < 0.5 else int(np.clip(np.ceil(blur) + 1, 3, MOST_SAMPLES))
    total = np.zeros_like(light)
    for moment in (np.arange(samples) + 0.5) / samples - 0.5:
        since = row_s + moment * shutter_s
        total += bilinear(light, u - moving[..., 0] * since, v - moving[..., 1] * since)
    return total / np.float32(samples)


def _spread(velocity: np.ndarray, steps: int) -> np.ndarray:
    """Let the fastest velocity reach `steps` pixels further: what moves smears over what stands beside it."""
    fastest, speed = velocity, np.square(velocity).sum(axis=-1)
    for _ in range(steps):
        for axis in (1, 2):
            for shift in (1, -1):
                there = np.roll(speed, shift, axis=axis)
                # What left on one side of the image must not come in on the other.
                edge = [slice(None)] * 3
                edge[axis] = slice(0, 1) if shift == 1 else slice(-1, None)
                there[tuple(edge)] = 0
                faster = there > speed
                fastest = np.where(faster[..., None], np.roll(fastest, shift, axis=axis), fastest)
                speed = np.maximum(there, speed)
    return fastest
