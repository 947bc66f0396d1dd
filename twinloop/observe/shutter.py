"""The shutter: motion blur over the exposure, and row-by-row readout.

Each pixel is averaged along its own known path over the opening time. Averaging neighbouring images instead would
show two or three separate ghosts, since an exposure of a few milliseconds is shorter than a control period; rendering
many images per frame would multiply the cost. The path is a straight line with the velocity at the middle of the
exposure. This is accurate, because things move by a few pixels only in one exposure.

Velocities are those of blocks of pixels. A block has the velocity of the fastest thing in it or within reach, so that
a moving thing is smeared over its surroundings. Paths are sampled at half pixels, from an image that is interpolated
once to twice its size.
"""

from typing import Any

import numpy as np

from twinloop.observe.kernels import compiled
from twinloop.observe.sampling import copy_channels

MOST_SAMPLES = 9
WIDEST_PX = 12
BLOCK_PX = 4
STILL_PX = 0.05


class Shutter:
    """The shutter of one camera in one episode: image size, exposure time, and delay of the last row."""

    def __init__(self, height: int, width: int, open_s: float, readout_s: float):
        self._open_s, self._reach_s = open_s, (open_s + readout_s) / 2
        self._pixels = height * width
        self._blocks = -(-height // BLOCK_PX), -(-width // BLOCK_PX)
        # Reused for every image, because allocating memory costs more than the computation.
        tall, self._wide = height + -height % BLOCK_PX, width + -width % BLOCK_PX
        self._padded = np.zeros((tall, self._wide, 4), np.float32)
        self._doubled = np.zeros((2 * height - 1, 2 * width - 1, 4), np.float32)
        self._row_s = ((np.arange(tall) + 0.5) / height - 0.5).astype(np.float32) * np.float32(readout_s)

    def exposed(self, light: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """(h, w, c) light after exposure, with at most four channels, for (h, w, 2) velocities in pixels per second."""
        kernels = compiled()
        height, width = light.shape[:2]
        if kernels is not None and light.shape[2] == 3:
            out, moved = np.empty_like(light), np.zeros(1, np.uint8)
            kernels.expose(
                light.reshape(-1), np.ascontiguousarray(velocity), *self.settings(), moved, out.reshape(height, -1)
            )
            return out if moved[0] else light
        fastest = max(float(velocity.max(initial=0)), -float(velocity.min(initial=0)))
        if fastest * self._reach_s < STILL_PX:
            return light
        blocks = _spread(velocity, _packed(velocity), fastest * self._reach_s)
        moving = np.abs(blocks).max(axis=-1) * np.float32(self._reach_s) > np.float32(STILL_PX)
        blur_px = fastest * self._open_s
        samples = 1 if blur_px < 0.5 else int(np.clip(np.ceil(blur_px) + 1, 3, MOST_SAMPLES))
        moments = (np.arange(samples) + 0.5) / samples - 0.5
        rows, columns = np.nonzero(moving)
        self._double(light)
        # Four numbers are read and written as one of 16 bytes. Arrays are (row in the block, column in the block,
        # block), with the longest axis last. Places are counted in half pixels.
        places = self._doubled.reshape(-1).view(np.complex128)
        inside = np.arange(BLOCK_PX)[:, None]
        lines, pixels = BLOCK_PX * rows + inside, BLOCK_PX * columns + inside
        across, down = 2 * blocks[rows, columns].T
        x, y, row_s = (2 * BLOCK_PX * columns).astype(np.float32), 2 * lines.astype(np.float32), self._row_s[lines]
        # Pixels of a row of a block move together, by whole half pixels.
        offset = 2 * inside.astype(np.float32)
        total = np.zeros((BLOCK_PX, BLOCK_PX, len(rows)), np.complex128)
        for moment in moments:
            since = row_s + np.float32(moment * self._open_s)
            place = np.rint(x - across * since)[:, None] + offset
            np.clip(place, 0, 2 * width - 2, out=place)
            place += ((2 * width - 1) * np.clip(np.rint(y - down * since), 0, 2 * height - 2))[:, None]
            total.view(np.float32)[...] += places.take(place.astype(np.intp), mode="clip").view(np.float32)
        total.view(np.float32)[...] /= np.float32(samples)
        self._padded.reshape(-1).view(np.complex128)[lines[:, None] * self._wide + pixels] = total
        out = np.empty_like(light)
        copy_channels(self._padded[:height, :width], out)
        return out

    def settings(self) -> tuple[Any, ...]:
        """Arguments of the compiled `expose` between the velocities and `moved`: settings and scratch memory."""
        blocks = self._blocks
        return (
            self._open_s, self._reach_s, BLOCK_PX, WIDEST_PX, STILL_PX, MOST_SAMPLES, self._row_s,
            np.empty(blocks, np.float32), np.empty(blocks, np.uint64), np.empty(blocks, np.uint64),
            np.empty((*blocks, 2), np.float32), np.empty(blocks, np.uint8), np.empty(MOST_SAMPLES, np.float32),
            np.empty(4 * 3 * self._pixels, np.float32),
        )  # fmt: skip

    def _double(self, light: np.ndarray) -> None:
        """The image at twice the size, with means between its pixels."""
        height, width = light.shape[:2]
        copy_channels(light, self._padded[:height, :width])
        pixels = self._doubled.view(np.complex128)[..., 0]
        pixels[::2, ::2] = self._padded[:height, :width].view(np.complex128)[..., 0]
        flat = self._padded.reshape(len(self._padded), -1)[:height, : 4 * width]
        means = flat[:, :-4] + flat[:, 4:]
        means *= np.float32(0.5)
        pixels[::2, 1::2] = means.view(np.complex128)
        lines = self._doubled.reshape(len(self._doubled), -1)
        np.add(lines[:-2:2], lines[2::2], out=lines[1::2])
        lines[1::2] *= np.float32(0.5)


def _spread(velocity: np.ndarray, packed: np.ndarray, reach_px: float) -> np.ndarray:
    """(rows, columns, 2) the fastest velocity within reach of each block.

    Args:
        packed: see `_packed`; overwritten.
    """
    for _ in range(int(np.ceil(min(reach_px, WIDEST_PX) / BLOCK_PX))):
        for turned in (packed, packed.T):
            before = turned.copy()
            np.maximum(turned[1:], before[:-1], out=turned[1:])
            np.maximum(turned[:-1], before[1:], out=turned[:-1])
    return velocity.reshape(-1, 2)[(packed & np.uint64(0xFFFFFFFF)).astype(np.intp)]


def _packed(velocity: np.ndarray) -> np.ndarray:
    """(rows, columns) uint64 of blocks: bits of the largest square of a velocity, then the index of its pixel."""
    height, width = velocity.shape[:2]
    square = velocity[..., 0] * velocity[..., 0] + velocity[..., 1] * velocity[..., 1]
    # A square is not negative, so its bits sort like its value. With the pixel's index in the lower bits, the largest
    # of several such numbers gives the index of the fastest pixel.
    packed = (square.view(np.uint32).astype(np.uint64) << np.uint64(32)).reshape(-1)
    packed |= np.arange(height * width, dtype=np.uint64)
    packed = packed.reshape(height, width)
    if height % BLOCK_PX or width % BLOCK_PX:
        packed = np.pad(packed, ((0, -height % BLOCK_PX), (0, -width % BLOCK_PX)))
    packed = packed.reshape(-1, BLOCK_PX, packed.shape[1]).max(axis=1)
    return np.stack([packed[:, part::BLOCK_PX] for part in range(BLOCK_PX)]).max(axis=0)
