"""TextureStack: the textures of all surfaces, as layers of one texture array. Layers are reused, oldest first."""

from collections.abc import Callable
from typing import Any

import numpy as np

from twinloop.observe.gl import bindings
from twinloop.observe.gl_target import set_sampling


class TextureStack:
    """Square textures of one size, by key. It belongs to the OpenGL context of the process."""

    def __init__(self, side: int, layers: int, *, blended: bool = True):
        """blended: a pixel blends the two nearest sizes of a texture; otherwise it takes the nearest one."""
        self._gl = gl = bindings()
        self.side, self._levels = side, side.bit_length()
        self._layers: dict[Any, int] = {}
        self._count = layers
        self.texture = gl.glGenTextures(1)
        gl.glBindTexture(gl.GL_TEXTURE_2D_ARRAY, self.texture)
        gl.glTexStorage3D(gl.GL_TEXTURE_2D_ARRAY, self._levels, gl.GL_RGBA8, side, side, layers)
        small = gl.GL_LINEAR_MIPMAP_LINEAR if blended else gl.GL_LINEAR_MIPMAP_NEAREST
        set_sampling(gl, small, gl.GL_LINEAR, gl.GL_REPEAT)

    def layer(self, key: Any, make: Callable[[], np.ndarray]) -> int:
        """Layer of the texture with this key. `make` returns its (h, w, 3) uint8 pixels."""
        layer = self._layers.pop(key, None)
        if layer is None:
            free = len(self._layers) < self._count
            layer = len(self._layers) if free else self._layers.pop(next(iter(self._layers)))
            self._upload(layer, make())
        self._layers[key] = layer  # the last one is the most recent
        return layer

    def _upload(self, layer: int, pixels: np.ndarray) -> None:
        gl = self._gl
        gl.glBindTexture(gl.GL_TEXTURE_2D_ARRAY, self.texture)
        level = np.full((self.side, self.side, 4), 255, np.uint8)
        level[..., :3] = resized(pixels, self.side)
        for number in range(self._levels):
            side = len(level)
            gl.glTexSubImage3D(
                gl.GL_TEXTURE_2D_ARRAY, number, 0, 0, layer, side, side, 1, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE,
                np.ascontiguousarray(level),
            )  # fmt: skip
            if side > 1:
                quarters = level.reshape(side // 2, 2, side // 2, 2, 4).astype(np.uint16)
                level = ((quarters.sum(axis=(1, 3)) + 2) // 4).astype(np.uint8)


def resized(pixels: np.ndarray, side: int) -> np.ndarray:
    """(side, side, 3) of (h, w, 3) pixels: means of blocks where the image is larger, nearest pixels otherwise."""
    for axis in (0, 1):
        size = pixels.shape[axis]
        if size > side and size % side == 0:
            shape = list(pixels.shape)
            shape[axis : axis + 1] = [side, size // side]
            pixels = pixels.reshape(shape).mean(axis=axis + 1).round().astype(np.uint8)
        elif size != side:
            pixels = pixels.take(((np.arange(side) + 0.5) * size / side).astype(int), axis=axis)
    return pixels
