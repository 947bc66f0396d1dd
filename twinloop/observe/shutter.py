"""The shutter: how long it is open, and that rows are read one after the other.

Each pixel is averaged along its own known path over the opening time. Averaging neighbouring pictures instead would
show two or three separate ghosts, since a shutter of a few milliseconds lies inside one control period; and drawing
many pictures a frame would cost as many times the rendering. The path is straight and taken where the pixel is at
the middle of the exposure, which holds for the few pixels that things move in one.

Velocities are those of blocks of pixels, each as fast as the fastest thing in it or in reach: what moves smears over
what stands beside it. Paths are read to half a pixel, from a picture of twice the size that is mixed once.
"""

import numpy as np

MOST_SAMPLES = 9
WIDEST_PX = 12
BLOCK_PX = 4
STILL_PX = 0.05


def exposed(light: np.ndarray, velocity: np.ndarray, *, shutter_s: float, readout_s: float) -> np.ndarray:
    """(h, w, c) light, of four channels at most, gathered from the (h, w, 2) pixels a second at which all moves."""
    reach_s = (shutter_s + readout_s) / 2
    fastest = max(float(velocity.max(initial=0)), -float(velocity.min(initial=0)))
    if fastest * reach_s < STILL_PX:
        return light
    height, width, channels = light.shape
    blocks = _spread(velocity, fastest * reach_s)
    rows, columns = np.nonzero(np.abs(blocks).max(axis=-1) * reach_s > STILL_PX)
    # Twice the pixels a second, a block: places are counted in half pixels from here on.
    across, down = (2 * blocks[rows, columns]).T[..., None]
    inside = np.arange(BLOCK_PX, dtype=np.float32)
    x = 2 * (columns[:, None].astype(np.float32) * BLOCK_PX + inside)
    y = rows[:, None].astype(np.float32) * BLOCK_PX + inside
    row_s = ((y + 0.5) / height - 0.5) * np.float32(readout_s)
    y *= 2
    doubled = _doubled(light)
    tall, wide = doubled.shape[:2]
    # Four numbers are fetched as one of 16 bytes.
    places = doubled.reshape(-1).view(np.complex128)
    blur_px = fastest * shutter_s
    samples = 1 if blur_px < 0.5 else int(np.clip(np.ceil(blur_px) + 1, 3, MOST_SAMPLES))
    total = np.zeros((len(rows), BLOCK_PX, BLOCK_PX, 4), np.float32)
    for moment in (np.arange(samples) + 0.5) / samples - 0.5:
        since = row_s + np.float32(moment * shutter_s)
        line = np.clip(np.rint(y - down * since), 0, tall - 1)
        place = np.clip(np.rint(x[:, None] - (across * since)[..., None]), 0, wide - 1)
        place += wide * line[..., None]
        total += places.take(place.astype(np.intp), mode="clip").view(np.float32).reshape(total.shape)
    total /= np.float32(samples)
    return _pasted(light, rows, columns, total[..., :channels])


def _doubled(light: np.ndarray) -> np.ndarray:
    """(2h - 1, 2w - 1, 4): the picture, and between its pixels their means."""
    height, width, channels = light.shape
    out = np.zeros((2 * height - 1, 2 * width - 1, 4), np.float32)
    even = out[::2]
    even[:, ::2, :channels] = light
    np.add(even[:, :-2:2], even[:, 2::2], out=even[:, 1::2])
    even[:, 1::2] *= np.float32(0.5)
    np.add(even[:-1], even[1:], out=out[1::2])
    out[1::2] *= np.float32(0.5)
    return out


def _pasted(light: np.ndarray, rows: np.ndarray, columns: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """A copy of the picture with these (n, BLOCK_PX, BLOCK_PX, c) blocks in it."""
    height, width, channels = light.shape
    below, beside = -height % BLOCK_PX, -width % BLOCK_PX
    out = np.empty((height + below, width + beside, channels), np.float32)
    out[:height, :width] = light
    tiled = out.reshape(out.shape[0] // BLOCK_PX, BLOCK_PX, out.shape[1] // BLOCK_PX, BLOCK_PX, channels)
    tiled[rows, :, columns] = blocks
    return np.ascontiguousarray(out[:height, :width])


def _spread(velocity: np.ndarray, reach_px: float) -> np.ndarray:
    """(rows, columns, 2) of blocks: the fastest velocity within reach of each."""
    height, width = velocity.shape[:2]
    square = velocity[..., 0] * velocity[..., 0] + velocity[..., 1] * velocity[..., 1]
    # A square is not negative, so its bits sort as it does. With the pixel's number behind them, the largest of
    # several such numbers says which pixel is fastest.
    packed = (square.view(np.uint32).astype(np.uint64) << np.uint64(32)).reshape(-1)
    packed |= np.arange(height * width, dtype=np.uint64)
    packed = np.pad(packed.reshape(height, width), ((0, -height % BLOCK_PX), (0, -width % BLOCK_PX)))
    packed = packed.reshape(-1, BLOCK_PX, packed.shape[1]).max(axis=1)
    packed = packed.reshape(len(packed), -1, BLOCK_PX).max(axis=2)
    for _ in range(int(np.ceil(min(reach_px, WIDEST_PX) / BLOCK_PX))):
        for turned in (packed, packed.T):
            before = turned.copy()
            np.maximum(turned[1:], before[:-1], out=turned[1:])
            np.maximum(turned[:-1], before[1:], out=turned[:-1])
    return velocity.reshape(-1, 2)[(packed & np.uint64(0xFFFFFFFF)).astype(np.intp)]
