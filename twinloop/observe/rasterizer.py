"""Rasterizer: draws batches of frames with OpenGL, many frames in one draw call and with one read-back.

Colour, depth and masks come from one pass: the mask is the fourth channel of the image. Depth is stored as near / z, so
that its precision is the same share of the distance everywhere.
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from twinloop.errors import RenderError
from twinloop.observe.gl import FIX, bindings, context
from twinloop.observe.gl_target import ColourTarget, ShadowTarget
from twinloop.observe.quality import RenderQuality
from twinloop.observe.shading import INSTANCE, PROJECTED, TEXELS, pixel_shader, vertex_shader
from twinloop.observe.tessellation import TriangleMesh

NEAR_M = 0.01
FAR_M = 30.0
"""Depth of pixels that show nothing."""

MIN_VERSION = (4, 5)

SHADERS = (
    (),
    ("TEXTURED", "FLAT_FACES"),
    ("TEXTURED",),
    ("MIRROR",),
    ("TEXTURED", "FLAT_FACES", "MIRROR"),
    ("TEXTURED", "MIRROR"),
)
"""Features of the pixel shader that instances need. In software, a branch costs as much where it is not taken."""

TEXTURES, SHADOWS, MIRROR, FRAMES = range(4)
"""Texture units."""


@dataclass(frozen=True)
class FrameBatch:
    """Frames to draw, and the geoms in them.

    Attributes:
        frames: (f,) records of FRAME.
        instances: (n,) records of INSTANCE. Those of one shape follow one another; transparent ones come last.
        shapes: (n,) number of the shape of each instance.
        opaque: number of instances that are not transparent.
        casters: (c,) instances that are drawn into the shadow maps, by shape, and `caster_shapes` their shapes.
        shadow_maps: number of shadow maps; 0 draws none.
        mirrored: the mirror images of the frames, if a surface shows them.
        changing: shapes of this batch only; their numbers follow those of the others.
        flipped: triangles are turned inside out, as in a mirror.
    """

    frames: np.ndarray
    instances: np.ndarray
    shapes: np.ndarray
    opaque: int
    casters: np.ndarray
    caster_shapes: np.ndarray
    shadow_maps: int = 0
    mirrored: "FrameBatch | None" = None
    flipped: bool = False
    changing: tuple[TriangleMesh, ...] = ()


class Rasterizer:
    """Draws shapes into images of any size. It belongs to the OpenGL context of the process."""

    def __init__(self, shapes: Sequence[TriangleMesh], quality: RenderQuality):
        context().make_current()
        self._gl = gl = bindings()
        require_version(gl.glGetString(gl.GL_VERSION).decode())
        self._quality = quality
        self._layered = "GL_ARB_shader_viewport_layer_array" in _extensions(gl)
        self._programs: dict[tuple[str, ...], int] = {}
        self._targets: dict[str, ColourTarget] = {}
        self._maps: ShadowTarget | None = None
        self._array = gl.glGenVertexArrays(1)
        gl.glBindVertexArray(self._array)
        self._vertices, self._indices, self._instances, self._frames = gl.glGenBuffers(4)
        self._shapes, self._ranges = tuple(shapes), self._load(shapes)
        self._frame_texture = gl.glGenTextures(1)

    def _load(self, shapes: Sequence[TriangleMesh]) -> list[tuple[int, int, int, bool]]:
        """Upload the shapes. Returns count, offset and first vertex of each, and whether back faces can be left out."""
        gl, ranges, points, corners, start, first = self._gl, [], [], [], 0, 0
        for shape in shapes:
            uv = np.zeros((len(shape.base), 2)) if shape.uv is None else shape.uv
            points.append(np.column_stack([shape.base, shape.shift, shape.normal, uv]).astype(np.float32))
            corners.append(shape.triangles.astype(np.uint32).ravel())
            ranges.append((shape.triangles.size, 4 * first, start, shape.closed))
            start, first = start + len(shape.base), first + shape.triangles.size
        _upload(gl, gl.GL_ARRAY_BUFFER, self._vertices, np.concatenate(points), gl.GL_STATIC_DRAW)
        for location, (size, offset) in enumerate(((4, 0), (3, 16), (2, 28))):
            gl.glEnableVertexAttribArray(location)
            gl.glVertexAttribPointer(location, size, gl.GL_FLOAT, False, 36, ctypes.c_void_p(offset))
        _upload(gl, gl.GL_ELEMENT_ARRAY_BUFFER, self._indices, np.concatenate(corners), gl.GL_STATIC_DRAW)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._instances)
        for number in range(INSTANCE.itemsize // 16):
            gl.glEnableVertexAttribArray(3 + number)
            gl.glVertexAttribDivisor(3 + number, 1)
            start = ctypes.c_void_p(16 * number)
            gl.glVertexAttribPointer(3 + number, 4, gl.GL_FLOAT, False, INSTANCE.itemsize, start)
        return ranges

    def draw(self, batch: FrameBatch, textures: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """(f, h, w, 4) uint8 colours and mask codes, and (f, h, w) float32 stored depth, near / z; the top row first.

        Args:
            textures: the texture array.
        """
        gl, frames = self._gl, len(batch.frames)
        gl.glBindVertexArray(self._array)
        if batch.changing:
            self._ranges = self._load((*self._shapes, *batch.changing))
        gl.glClipControl(gl.GL_UPPER_LEFT, gl.GL_ZERO_TO_ONE)
        for switch in (gl.GL_BLEND, gl.GL_DITHER, gl.GL_MULTISAMPLE, gl.GL_SCISSOR_TEST, gl.GL_STENCIL_TEST):
            gl.glDisable(switch)
        gl.glEnable(gl.GL_DEPTH_TEST)
        maps = self._draw_shadows(batch) if batch.shadow_maps else 0
        mirror = 0
        if batch.mirrored is not None:
            half = self._target("mirror", width // 2, height // 2, len(batch.mirrored.frames))
            self._draw_colours(batch.mirrored, half, textures, 0, 0)
            mirror = half.colours
        target = self._target("colour", width, height, frames)
        self._draw_colours(batch, target, textures, maps, mirror)
        return target.read(frames)

    def _draw_shadows(self, batch: FrameBatch) -> int:
        gl, side = self._gl, self._quality.shadow_px
        if self._maps is None or self._maps.layers < batch.shadow_maps:
            if self._maps is not None:
                self._maps.delete()
            self._maps = ShadowTarget(gl, side, batch.shadow_maps)
        self._use(("SHADOW_MAP",), batch)
        gl.glDepthFunc(gl.GL_LESS)
        gl.glClearDepth(1.0)
        gl.glFrontFace(gl.GL_CCW)
        # Surfaces must not shade themselves.
        gl.glEnable(gl.GL_POLYGON_OFFSET_FILL)
        gl.glPolygonOffset(2.0, 4.0)
        _upload(gl, gl.GL_ARRAY_BUFFER, self._instances, batch.casters, gl.GL_STREAM_DRAW)
        layers = batch.casters["place"][:, 2]
        for layer, chosen in self._passes(batch.shadow_maps, layers):
            self._maps.bind(layer)
            gl.glClear(gl.GL_DEPTH_BUFFER_BIT)
            self._draw_instances(batch.caster_shapes, chosen, 0, len(batch.casters))
        gl.glDisable(gl.GL_POLYGON_OFFSET_FILL)
        return self._maps.depths

    def _draw_colours(self, batch: FrameBatch, target: ColourTarget, textures: int, shadows: int, mirror: int) -> None:
        gl, count = self._gl, len(batch.instances)
        glossy = ((batch.instances["surface"][:, 3] > 0) & (batch.instances["place"][:, 3] < 0)).any()
        shared = tuple(name for name, needed in {"SHADOWS": shadows, "GLOSS": glossy}.items() if needed)
        shaders = shader_of(batch.instances)
        edges = [0, *(1 + np.flatnonzero(np.diff(shaders[: batch.opaque]))), batch.opaque]
        gl.glDepthFunc(gl.GL_GREATER)
        gl.glClearDepth(0.0)
        gl.glFrontFace(gl.GL_CW if batch.flipped else gl.GL_CCW)
        gl.glClearColor(0.0, 0.0, 0.0, 0.0)
        _upload(gl, gl.GL_ARRAY_BUFFER, self._instances, batch.instances, gl.GL_STREAM_DRAW)
        for unit, texture in ((TEXTURES, textures), (SHADOWS, shadows), (MIRROR, mirror)):
            gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
            gl.glBindTexture(gl.GL_TEXTURE_2D_ARRAY, texture)
        for layer, chosen in self._passes(len(batch.frames), batch.instances["place"][:, 0]):
            target.bind(layer)
            gl.glClear(gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT)
            for first, after in pairwise(edges):
                if first < after:
                    self._use_for(target, (*shared, *SHADERS[shaders[first]]), batch)
                    self._draw_instances(batch.shapes, chosen, int(first), int(after))
            if batch.opaque < count:
                # The fourth channel holds the mask, so the cover of a transparent surface is a second output.
                self._use_for(target, (*shared, *SHADERS[-1 if mirror else 2], "BLENDED"), batch)
                gl.glEnable(gl.GL_BLEND)
                gl.glBlendFuncSeparate(gl.GL_SRC1_COLOR, gl.GL_ONE_MINUS_SRC1_COLOR, gl.GL_ONE, gl.GL_ZERO)
                self._draw_instances(batch.shapes, chosen, batch.opaque, count)
                gl.glDisable(gl.GL_BLEND)

    def _passes(self, layers: int, layer_of: np.ndarray) -> Iterator[tuple[int | None, np.ndarray | None]]:
        """All layers at once, or one after the other where OpenGL cannot select a layer in a vertex shader."""
        if self._layered:
            yield None, None
        else:
            for layer in range(layers):
                yield layer, layer_of == layer

    def _draw_instances(self, shapes: np.ndarray, chosen: np.ndarray | None, start: int, stop: int) -> None:
        """Draw each run of instances with the same shape."""
        gl = self._gl
        if start == stop:
            return
        keys = shapes if chosen is None else np.where(chosen, shapes, -1)
        edges = start + 1 + np.flatnonzero(np.diff(keys[start:stop]))
        for first, after in zip([start, *edges], [*edges, stop], strict=True):
            if keys[first] < 0:
                continue
            count, offset, vertex, closed = self._ranges[keys[first]]
            (gl.glEnable if closed else gl.glDisable)(gl.GL_CULL_FACE)
            gl.glDrawElementsInstancedBaseVertexBaseInstance(
                gl.GL_TRIANGLES, count, gl.GL_UNSIGNED_INT, ctypes.c_void_p(offset), int(after - first), vertex,
                int(first),
            )  # fmt: skip

    def _target(self, use: str, width: int, height: int, layers: int) -> ColourTarget:
        target = self._targets.get(use)
        if target is None or (target.width, target.height) != (width, height) or target.layers < layers:
            if target is not None:
                target.delete()
            self._targets[use] = target = ColourTarget(self._gl, width, height, layers)
        return target

    def _use_for(self, target: ColourTarget, features: tuple[str, ...], batch: FrameBatch) -> None:
        """Select the program with these features, which draws into the target."""
        gl, program = self._gl, self._use(features, batch)
        if "MIRROR" in features:
            gl.glUniform2f(gl.glGetUniformLocation(program, "mirror_scale"), 1 / target.width, 1 / target.height)

    def _use(self, features: tuple[str, ...], batch: FrameBatch) -> int:
        """Select the program with these features, and give it the frames."""
        gl = self._gl
        program = self._programs.get(features)
        if program is None:
            self._programs[features] = program = self._compiled(features)
        gl.glUseProgram(program)
        gl.glActiveTexture(gl.GL_TEXTURE0 + FRAMES)
        _upload(gl, gl.GL_TEXTURE_BUFFER, self._frames, batch.frames, gl.GL_STREAM_DRAW)
        gl.glBindTexture(gl.GL_TEXTURE_BUFFER, self._frame_texture)
        gl.glTexBuffer(gl.GL_TEXTURE_BUFFER, gl.GL_RGBA32F, self._frames)
        return program

    def _compiled(self, features: tuple[str, ...]) -> int:
        gl, quality = self._gl, self._quality
        defines = dict.fromkeys(features, "1") | {"TEXELS": str(TEXELS), "TAPS": str(quality.shadow_taps)}
        defines["SPREAD"] = repr(1.5 / max(quality.shadow_px, 1))
        if self._layered:
            defines["LAYERS"] = "1"
        program = gl.glCreateProgram()
        for kind, source in ((gl.GL_VERTEX_SHADER, vertex_shader), (gl.GL_FRAGMENT_SHADER, pixel_shader)):
            shader = gl.glCreateShader(kind)
            gl.glShaderSource(shader, source(defines))
            gl.glCompileShader(shader)
            if not gl.glGetShaderiv(shader, gl.GL_COMPILE_STATUS):
                raise RenderError(f"this OpenGL cannot compile the shaders: {gl.glGetShaderInfoLog(shader)!r}")
            gl.glAttachShader(program, shader)
        gl.glLinkProgram(program)
        if not gl.glGetProgramiv(program, gl.GL_LINK_STATUS):
            raise RenderError(f"this OpenGL cannot link the shaders: {gl.glGetProgramInfoLog(program)!r}")
        gl.glUseProgram(program)
        for name, unit in (("textures", TEXTURES), ("shadows", SHADOWS), ("mirror", MIRROR), ("frames", FRAMES)):
            gl.glUniform1i(gl.glGetUniformLocation(program, name), unit)
        return program


def shader_of(instances: np.ndarray) -> np.ndarray:
    """(n,) which of SHADERS draws each record of INSTANCE."""
    texture = instances["texture"]
    textured = np.where(texture[:, 3] == PROJECTED, 2, 1)
    return np.where(texture[:, 0] >= 0, textured, 0) + 3 * (instances["place"][:, 3] >= 0)


def require_version(version: str) -> None:
    """Raise RenderError if this version of OpenGL, e.g. "4.5 (Core Profile) Mesa 22.3.6", is too old."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < MIN_VERSION:
        needed = ".".join(map(str, MIN_VERSION))
        raise RenderError(
            f"images need OpenGL {needed}, and this machine has {version!r}; update the graphics driver, or use the "
            f"software renderer: MUJOCO_GL=osmesa, {FIX}"
        )


def _upload(gl: Any, kind: int, buffer: int, values: np.ndarray, use: int) -> None:
    gl.glBindBuffer(kind, buffer)
    gl.glBufferData(kind, values.nbytes, values.ctypes.data_as(ctypes.c_void_p), use)


def _extensions(gl: Any) -> set[str]:
    return {
        gl.glGetStringi(gl.GL_EXTENSIONS, number).decode() for number in range(gl.glGetIntegerv(gl.GL_NUM_EXTENSIONS))
    }
