"""RenderQuality: named levels of rendering quality. The level is part of a config's digest."""

from dataclasses import dataclass
from typing import Literal, get_args

QualityName = Literal["fast", "default", "high"]
QUALITY_NAMES: tuple[QualityName, ...] = get_args(QualityName)


@dataclass(frozen=True)
class RenderQuality:
    """Settings of the renderer.

    Attributes:
        shadow_px: side of the shadow map; 0 renders no shadows.
        shadow_taps: samples of the shadow map per pixel along each axis; more make softer edges.
        supersampling: samples of the colour per pixel along each axis; odd, so that one is in the middle.
        plane_cells: cells of floor and walls along each axis; light is computed at their corners.
        blended_textures: blend two sizes of a texture in each pixel, so that its detail changes gradually.
        slices: sides of round shapes.
        coarse_slices: sides of round shapes in shadow maps and mirror images.
        mesh_cell_m: size below which details of large meshes are left out; 0 keeps all. `coarse_cell_m`: the same in
            shadow maps and mirror images.
        mirrors: render reflections in the table and the floor.
    """

    shadow_px: int
    shadow_taps: int
    supersampling: int
    plane_cells: int
    blended_textures: bool
    slices: int
    coarse_slices: int
    mesh_cell_m: float
    coarse_cell_m: float
    mirrors: bool


QUALITIES: dict[QualityName, RenderQuality] = {
    "fast": RenderQuality(
        shadow_px=0, shadow_taps=0, supersampling=1, plane_cells=4, blended_textures=False, slices=12,
        coarse_slices=12, mesh_cell_m=0.004, coarse_cell_m=0.004, mirrors=False,
    ),
    "default": RenderQuality(
        shadow_px=512, shadow_taps=1, supersampling=1, plane_cells=8, blended_textures=True, slices=16,
        coarse_slices=8, mesh_cell_m=0.002, coarse_cell_m=0.008, mirrors=True,
    ),
    "high": RenderQuality(
        shadow_px=1024, shadow_taps=3, supersampling=3, plane_cells=8, blended_textures=True, slices=40,
        coarse_slices=40, mesh_cell_m=0.0, coarse_cell_m=0.0, mirrors=True,
    ),
}  # fmt: skip
