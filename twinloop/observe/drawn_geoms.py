"""DrawnGeoms: shape, size and look of every geom of a dressed stage, as the rasterizer needs them.

Soft objects follow the geoms: object k is number ngeom + k, and its shape differs in every state.
"""

from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from twinloop.observe import tessellation
from twinloop.observe.materials import material
from twinloop.observe.mesh_detail import simplified
from twinloop.observe.quality import RenderQuality
from twinloop.observe.shading import FLAT_FACES, OWN_COORDINATES, PROJECTED
from twinloop.observe.stage import SHININESS, SPECULAR, SURFACES, Stage
from twinloop.observe.tessellation import TriangleMesh
from twinloop.observe.texture_stack import TextureStack

GROUPS = 3  # the engine draws the first three groups of geoms
PLAIN_SPECULAR, PLAIN_SHININESS = 0.5, 0.5  # the engine's values for geoms without a material
DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1], np.float32)
GEOM = mujoco.mjtGeom


TextureKey = tuple[str, int]
"""Surface and number of its material, or "" and a texture of the model."""


@dataclass(frozen=True)
class DrawnGeoms:
    """g geoms of the stage in one draw.

    Attributes:
        shapes: (g,) number of the shape; -1 is not drawn. A soft object has no number here.
        scale, rgba, surface, texture: (g, 4), see `shading.INSTANCE`.
        texture_keys, texture_slots: the textures, and (g,) which of them a geom has; -1 for none. The layer in
            `texture` is only valid after `place_textures`.
        radius_m: (g,) of the sphere around the geom; 0 for planes.
        casts: (g,) casts a shadow.
    """

    shapes: np.ndarray
    scale: np.ndarray
    rgba: np.ndarray
    surface: np.ndarray
    texture: np.ndarray
    texture_keys: tuple[TextureKey, ...]
    texture_slots: np.ndarray
    radius_m: np.ndarray
    casts: np.ndarray


class GeomShapes:
    """The shapes that geoms of a model can have, and their numbers.

    Attributes:
        coarse: (shapes,) number of the shape that stands for each in shadow maps and mirror images.
    """

    def __init__(self, model: mujoco.MjModel, quality: RenderQuality):
        self.shapes: list[TriangleMesh] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._add(int(GEOM.mjGEOM_PLANE), -1, tessellation.plane(quality.plane_cells))
        self._add(int(GEOM.mjGEOM_BOX), -1, tessellation.box())
        for kind, shape in _round_shapes(quality.slices).items():
            self._add(int(kind), -1, shape)
        used = set(zip(model.geom_type.tolist(), model.geom_dataid.tolist(), strict=True))
        meshes = {
            number: tessellation.mesh(model, number)
            for number in range(model.nmesh)
            if (int(GEOM.mjGEOM_MESH), number) in used
        }
        for number, shape in meshes.items():
            self._add(int(GEOM.mjGEOM_MESH), number, simplified(shape, quality.mesh_cell_m))
        for number in range(model.nhfield):
            self._add(int(GEOM.mjGEOM_HFIELD), number, tessellation.height_field(model, number))
        self.plane = self._numbers[int(GEOM.mjGEOM_PLANE), -1]
        fine, coarse = len(self.shapes), np.arange(len(self.shapes))
        others = {(int(kind), -1): shape for kind, shape in _round_shapes(quality.coarse_slices).items()}
        for number, shape in meshes.items():
            others[int(GEOM.mjGEOM_MESH), number] = simplified(shape, quality.coarse_cell_m)
        for key, shape in others.items():
            number = self._numbers[key]
            if len(shape.triangles) < len(self.shapes[number].triangles):
                coarse[number] = len(self.shapes)
                self.shapes.append(shape)
        self.coarse = np.append(coarse, np.arange(fine, len(self.shapes)))

    def _add(self, kind: int, number: int, shape: TriangleMesh) -> None:
        self._numbers[kind, number] = len(self.shapes)
        self.shapes.append(shape)

    def number(self, kind: int, data: int) -> int:
        """Number of the shape; -1 for a kind of geom that is not drawn."""
        own = kind in (GEOM.mjGEOM_MESH, GEOM.mjGEOM_HFIELD)
        return self._numbers.get((kind, data if own else -1), -1)


def _round_shapes(slices: int) -> dict[mujoco.mjtGeom, TriangleMesh]:
    return {
        GEOM.mjGEOM_SPHERE: tessellation.ellipsoid(slices),
        GEOM.mjGEOM_CAPSULE: tessellation.ellipsoid(slices, split=True),
        GEOM.mjGEOM_ELLIPSOID: tessellation.ellipsoid(slices),
        GEOM.mjGEOM_CYLINDER: tessellation.cylinder(slices),
    }


def drawn_geoms(stage: Stage, shapes: GeomShapes, index: int) -> DrawnGeoms:
    """Read the looks of a stage after `dress`.

    Args:
        index: drawn number of the materials of all surfaces.
    """
    model = stage.model
    count = model.ngeom
    kinds = zip(model.geom_type.tolist(), model.geom_dataid.tolist(), strict=True)
    numbers = np.array([shapes.number(kind, data) for kind, data in kinds], np.int32)
    owner = model.geom_matid
    with_material = owner >= 0
    plain = (model.geom_rgba == DEFAULT_RGBA).all(axis=1) & with_material
    rgba = np.where(plain[:, None], model.mat_rgba[owner] if model.nmat else 0, model.geom_rgba).astype(np.float32)
    surface = np.tile(np.array([PLAIN_SPECULAR, PLAIN_SHININESS, 0, 0], np.float32), (count, 1))
    if model.nmat:
        own = np.column_stack([
            model.mat_specular, model.mat_shininess, model.mat_emission, model.mat_reflectance
        ])  # fmt: skip
        surface[with_material] = own[owner[with_material]]
    hidden = (model.geom_group >= GROUPS) | (rgba[:, 3] <= 0)
    scale = np.array([
        tessellation.scale_of(kind, size) for kind, size in zip(model.geom_type.tolist(), model.geom_size, strict=True)
    ], np.float32)  # fmt: skip
    room = model.geom_type == GEOM.mjGEOM_PLANE
    table = model.geom_bodyid == stage.table_body
    keys, slots, coordinates = _textures(stage, index)
    soft = model.nflex
    owners = {
        index.soft.flex: own
        for index, own in zip(stage.twin.things, stage.thing_materials, strict=True)
        if index.soft is not None
    }
    soft_rgba = model.mat_rgba[[owners[flex] for flex in range(soft)]].reshape(soft, 4)
    return DrawnGeoms(
        shapes=_followed(np.where(hidden, -1, numbers), soft, -1),
        scale=_followed(scale, soft, [1, 1, 1, 0]),
        rgba=np.concatenate([rgba, soft_rgba]).astype(np.float32),
        surface=_followed(surface, soft, [SPECULAR, SHININESS, 0, 0]),
        texture=_followed(coordinates, soft, [-1, 1, 1, 0]),
        texture_keys=keys,
        texture_slots=_followed(slots, soft, -1),
        radius_m=_followed(np.where(room, 0, model.geom_rbound), soft, 0),
        casts=_followed(~(room | table | hidden) & (rgba[:, 3] > 0.9), soft, True),
    )


def _followed(values: np.ndarray, count: int, by: ArrayLike) -> np.ndarray:
    """The values of geoms, followed by those of soft objects."""
    return np.concatenate([values, np.broadcast_to(by, (count, *values.shape[1:])).astype(values.dtype)])


def _textures(stage: Stage, index: int) -> tuple[tuple[TextureKey, ...], np.ndarray, np.ndarray]:
    """Keys of the textures, (g,) which of them each geom has, and (g, 4) repeats and kind of coordinates."""
    model = stage.model
    slots, out = np.full(model.ngeom, -1), np.tile(np.array([-1, 1, 1, 0], np.float32), (model.ngeom, 1))
    drawn = {number: name for name, number in stage.textures.items()}
    keys: dict[TextureKey, int] = {}
    role = mujoco.mjtTextureRole.mjTEXROLE_RGB.value
    for geom in np.flatnonzero(model.geom_matid >= 0):
        owner = model.geom_matid[geom]
        texture = int(model.mat_texid[owner, role])
        if texture < 0:
            continue
        key = (drawn[texture], index) if texture in drawn else ("", texture)
        slots[geom] = keys.setdefault(key, len(keys))
        mesh = model.geom_dataid[geom] if model.geom_type[geom] == GEOM.mjGEOM_MESH else -1
        own_uv = mesh >= 0 and model.mesh_texcoordadr[mesh] >= 0
        flat = model.geom_type[geom] in (GEOM.mjGEOM_PLANE, GEOM.mjGEOM_BOX)
        coordinates = OWN_COORDINATES if own_uv else FLAT_FACES if flat else PROJECTED
        out[geom, 1:] = *model.mat_texrepeat[owner], coordinates
    return tuple(keys), slots, out


def place_textures(geoms: DrawnGeoms, model: mujoco.MjModel, textures: TextureStack) -> None:
    """Write the layers of the textures, which may have moved since the last batch."""
    layers = [
        textures.layer(key, partial(_drawn_pixels, *key) if key[0] else partial(texture_pixels, model, key[1]))
        for key in geoms.texture_keys
    ]
    geoms.texture[:, 0] = np.array([*layers, -1], np.float32)[geoms.texture_slots]


def _drawn_pixels(surface: str, index: int) -> np.ndarray:
    size, plain_rgb, _, _ = SURFACES[surface]
    return material(index, surface, size, plain_rgb)


def texture_pixels(model: mujoco.MjModel, texture: int) -> np.ndarray:
    """(h, w, 3) uint8 pixels of a texture; of a cube, those of its first side."""
    height, width, channels = (
        int(values[texture]) for values in (model.tex_height, model.tex_width, model.tex_nchannel)
    )
    start = model.tex_adr[texture]
    pixels = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    side = min(height, width) if model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D else height
    pixels = pixels[:side, :, :3]
    return np.ascontiguousarray(pixels.repeat(3, axis=2) if channels == 1 else pixels)


def stack_for(stage: Stage, frames: int, *, blended: bool) -> TextureStack:
    """A texture stack for `frames` frames with different materials. Textures have up to 512 pixels.

    Args:
        blended: blend two sizes of a texture in each pixel.
    """
    model = stage.model
    largest = max([size for size, *_ in SURFACES.values()] + model.tex_width.tolist())
    side = min(1 << int(np.ceil(np.log2(largest))), 512)
    others = model.ntex - len(SURFACES)
    return TextureStack(side, frames * len(SURFACES) + others, blended=blended)
