"""DrawnFrames: colours, depth and geoms of frames, separated from what the rasterizer draws together."""

from dataclasses import dataclass

import numpy as np

from twinloop.observe.kernels import compiled
from twinloop.observe.rasterizer import FAR_M, NEAR_M
from twinloop.observe.sampling import copy_channels

CODES = 256


@dataclass(frozen=True)
class DrawnFrames:
    """f frames.

    Attributes:
        rgb: (f, h, w, 3) uint8.
        depth_m: (f, h, w) float32.
        geom_ids: (f, h, w) int16, -1 for none.
    """

    rgb: np.ndarray
    depth_m: np.ndarray
    geom_ids: np.ndarray

    @classmethod
    def empty(cls, frames: int, height: int, width: int) -> "DrawnFrames":
        shape = (frames, height, width)
        return cls(np.empty((*shape, 3), np.uint8), np.empty(shape, np.float32), np.empty(shape, np.int16))

    def split(self, ends: np.ndarray) -> list["DrawnFrames"]:
        parts = (np.split(values, ends) for values in (self.rgb, self.depth_m, self.geom_ids))
        return [DrawnFrames(*part) for part in zip(*parts, strict=True)]


def unpack(rgba: np.ndarray, stored: np.ndarray, geom_of: np.ndarray, places: np.ndarray, frames: DrawnFrames) -> None:
    """Write drawn images into the frames at `places`.

    Args:
        rgba: (f, h, w, 4) uint8; the fourth channel is the code of the geom.
        stored: (f, h, w) float32 near / z, 0 where nothing was drawn.
        geom_of: (CODES,) int16 geom of each code, -1 for none.
    """
    kernels, least = compiled(), np.float32(NEAR_M / FAR_M)
    if kernels is not None:
        count, total = len(rgba), len(frames.rgb)
        kernels.unpack(
            np.ascontiguousarray(rgba).reshape(count, -1), np.ascontiguousarray(stored).reshape(count, -1), NEAR_M,
            least, geom_of, places.astype(np.int64), frames.rgb.reshape(total, -1),
            frames.geom_ids.reshape(total, -1), frames.depth_m.reshape(total, -1),
        )  # fmt: skip
        return
    for place, colours, depths in zip(places, rgba, stored, strict=True):
        copy_channels(colours, frames.rgb[place])
        frames.geom_ids[place] = geom_of.take(colours[..., 3])
        frames.depth_m[place] = np.float32(NEAR_M) / np.maximum(depths, least)


def look_up(table: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Entries of a table of bytes for int16 ids from -1; the entry of -1 is the last."""
    kernels = compiled()
    if kernels is None or table.dtype != np.uint8 or not ids.flags.c_contiguous:
        return table[ids]
    out = np.empty(ids.shape, np.uint8)
    kernels.look_up(ids.reshape(-1), table, out.reshape(-1))
    return out
