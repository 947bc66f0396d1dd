"""Framebuffers with layers: one image per frame of a batch, read back together."""

from typing import Any

import numpy as np


class ColourTarget:
    """Layers of RGBA bytes and of depth."""

    def __init__(self, gl: Any, width: int, height: int, layers: int):
        self.gl, self.width, self.height, self.layers = gl, width, height, layers
        self.colours, self._depths = gl.glGenTextures(2)
        for texture, kind in ((self.colours, gl.GL_RGBA8), (self._depths, gl.GL_DEPTH_COMPONENT32F)):
            gl.glBindTexture(gl.GL_TEXTURE_2D_ARRAY, texture)
            gl.glTexStorage3D(gl.GL_TEXTURE_2D_ARRAY, 1, kind, width, height, layers)
            smooth = gl.GL_LINEAR if texture == self.colours else gl.GL_NEAREST
            set_sampling(gl, smooth, smooth, gl.GL_CLAMP_TO_EDGE)
        self._buffer = gl.glGenFramebuffers(1)

    def bind(self, layer: int | None) -> None:
        """Draw into one layer, or into all of them."""
        gl = self.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._buffer)
        _attach(gl, gl.GL_COLOR_ATTACHMENT0, self.colours, layer)
        _attach(gl, gl.GL_DEPTH_ATTACHMENT, self._depths, layer)
        gl.glViewport(0, 0, self.width, self.height)

    def read(self, frames: int) -> tuple[np.ndarray, np.ndarray]:
        """(frames, h, w, 4) uint8 and (frames, h, w) float32 stored depth."""
        gl, shape = self.gl, (frames, self.height, self.width)
        rgba, depth = np.empty((*shape, 4), np.uint8), np.empty(shape, np.float32)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
        for texture, out, form, kind in (
            (self.colours, rgba, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE),
            (self._depths, depth, gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT),
        ):
            gl.glGetTextureSubImage(texture, 0, 0, 0, 0, self.width, self.height, frames, form, kind, out.nbytes, out)
        return rgba, depth

    def delete(self) -> None:
        self.gl.glDeleteFramebuffers(1, [self._buffer])
        self.gl.glDeleteTextures([self.colours, self._depths])


class ShadowTarget:
    """Layers of shadow maps."""

    def __init__(self, gl: Any, side: int, layers: int):
        self.gl, self.side, self.layers = gl, side, layers
        self.depths = gl.glGenTextures(1)
        gl.glBindTexture(gl.GL_TEXTURE_2D_ARRAY, self.depths)
        gl.glTexStorage3D(gl.GL_TEXTURE_2D_ARRAY, 1, gl.GL_DEPTH_COMPONENT16, side, side, layers)
        set_sampling(gl, gl.GL_LINEAR, gl.GL_LINEAR, gl.GL_CLAMP_TO_EDGE)
        array, compare = gl.GL_TEXTURE_2D_ARRAY, gl.GL_COMPARE_REF_TO_TEXTURE
        gl.glTexParameteri(array, gl.GL_TEXTURE_COMPARE_MODE, compare)
        gl.glTexParameteri(array, gl.GL_TEXTURE_COMPARE_FUNC, gl.GL_LEQUAL)
        self._buffer = gl.glGenFramebuffers(1)

    def bind(self, layer: int | None) -> None:
        gl = self.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._buffer)
        _attach(gl, gl.GL_DEPTH_ATTACHMENT, self.depths, layer)
        gl.glDrawBuffer(gl.GL_NONE)
        gl.glViewport(0, 0, self.side, self.side)

    def delete(self) -> None:
        self.gl.glDeleteFramebuffers(1, [self._buffer])
        self.gl.glDeleteTextures([self.depths])


def set_sampling(gl: Any, small: int, large: int, beyond: int) -> None:
    """Set the filters for smaller and larger images, and the wrapping, of the bound texture array."""
    array = gl.GL_TEXTURE_2D_ARRAY
    gl.glTexParameteri(array, gl.GL_TEXTURE_MIN_FILTER, small)
    gl.glTexParameteri(array, gl.GL_TEXTURE_MAG_FILTER, large)
    gl.glTexParameteri(array, gl.GL_TEXTURE_WRAP_S, beyond)
    gl.glTexParameteri(array, gl.GL_TEXTURE_WRAP_T, beyond)


def _attach(gl: Any, attachment: int, texture: int, layer: int | None) -> None:
    if layer is None:
        gl.glFramebufferTexture(gl.GL_FRAMEBUFFER, attachment, texture, 0)
    else:
        gl.glFramebufferTextureLayer(gl.GL_FRAMEBUFFER, attachment, texture, 0, layer)
