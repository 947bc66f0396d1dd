"""The shutter: how long it is open, and that rows are read one after the other.

Each pixel is averaged along its own known path over the opening time. Averaging neighbouring pictures instead would
show two or three separate ghosts, since a shutter of a few milliseconds lies inside one control period; and drawing
many pictures a frame would cost as many times the rendering. The path is straight and taken where the pixel is at
the middle of the exposure, which holds for the few pixels that things move in one.
"""

import numpy as np

from twinloop.observe.sampling import between

MOST_SAMPLES = 9
WIDEST_PX = 12
BLOCK_PX = 4
STILL_PX = 0.05


def exposed(light: np.ndarray, velocity: np.ndarray, *, shutter_s: float, readout_s: float) -> np.ndarray:
    """(f, h, w, c) light gathered from the (f, h, w, 2) pixels a second at which everything moves."""
    if shutter_s == 0 and readout_s == 0:
        return light
    out = light.copy()
    # Frame by frame: each has its own moving pixels, few of all for a camera that stands.
    for frame in range(len(light)):
        _expose(light[frame], velocity[frame], out[frame], shutter_s, readout_s)
    return out


def _expose(light: np.ndarray, velocity: np.ndarray, out: np.ndarray, shutter_s: float, readout_s: float) -> None:
    height, width, channels = light.shape
    fastest = float(np.abs(velocity).max(initial=0))
    furthest_px = fastest * (shutter_s + readout_s) / 2
    if furthest_px < STILL_PX:
        return
    moving = _spread(velocity, furthest_px).reshape(-1, 2)
    pixels = np.flatnonzero(np.abs(moving).max(axis=1) * (shutter_s + readout_s) / 2 > STILL_PX)
    moving = moving[pixels]
    v, u = pixels // width + 0.5, pixels % width + 0.5
    row_s = (v / height - 0.5) * readout_s
    blur_px = fastest * shutter_s
    samples = 1 if blur_px < 0.5 else int(np.clip(np.ceil(blur_px) + 1, 3, MOST_SAMPLES))
    total = np.zeros((len(pixels), channels), np.float32)
    for moment in (np.arange(samples) + 0.5) / samples - 0.5:
        since = row_s + moment * shutter_s
        total += between(u - moving[:, 0] * since, v - moving[:, 1] * since, height, width).read(light)
    out.reshape(-1, channels)[pixels] = total / np.float32(samples)


def _spread(velocity: np.ndarray, reach_px: float) -> np.ndarray:
    """Let the fastest velocity reach further: what moves smears over what stands beside it. In blocks of pixels, which
    is as exact as the straight path is."""
    height, width = velocity.shape[:2]
    padded = np.pad(velocity, ((0, -height % BLOCK_PX), (0, -width % BLOCK_PX), (0, 0)))
    rows, columns = padded.shape[0] // BLOCK_PX, padded.shape[1] // BLOCK_PX
    blocks = padded.reshape(rows, BLOCK_PX, columns, BLOCK_PX, 2).swapaxes(1, 2).reshape(rows, columns, -1, 2)
    fastest = np.take_along_axis(blocks, np.square(blocks).sum(-1).argmax(-1)[..., None, None], axis=2)[:, :, 0]
    for _ in range(int(np.ceil(min(reach_px, WIDEST_PX) / BLOCK_PX))):
        # Nothing comes in over the edge of the image.
        framed = np.pad(fastest, ((1, 1), (1, 1), (0, 0)))
        around = np.stack([framed[i : i + rows, j : j + columns] for i in range(3) for j in range(3)])
        best = np.square(around).sum(-1).argmax(0)
        fastest = np.take_along_axis(around, best[None, ..., None], axis=0)[0]
    return fastest.repeat(BLOCK_PX, axis=0).repeat(BLOCK_PX, axis=1)[:height, :width]
