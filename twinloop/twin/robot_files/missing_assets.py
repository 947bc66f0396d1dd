"""Mesh and texture files of an MJCF file that are not there: what names them is left out of the spec."""

from pathlib import PurePath

import mujoco
import numpy as np

GUESSED_KG, GUESSED_RADIUS_M = 0.3, 0.04
"""Mass and radius of a body whose mass came from a shape that is left out."""
OPTIONAL = ("mesh", "texture")
"""Elements that may be left out if their file is missing."""


def leave_out(spec: mujoco.MjSpec, missing: tuple[str, ...]) -> None:
    """Delete meshes and textures with these file names, the geoms of the meshes, and references to the textures.

    A body that has no mass without them gets that of a small sphere.
    """
    meshes = [mesh for mesh in spec.meshes if _is_one_of(mesh.file, missing)]
    names = {mesh.name for mesh in meshes}
    for body in spec.bodies:
        shapes = [geom for geom in body.geoms if geom.meshname in names]
        for geom in shapes:
            spec.delete(geom)
        if shapes and not body.explicitinertial and not any(_has_mass(geom) for geom in body.geoms):
            body.mass, body.ipos, body.iquat = GUESSED_KG, (0, 0, 0), (1, 0, 0, 0)
            body.inertia = np.full(3, 0.4 * GUESSED_KG * GUESSED_RADIUS_M**2)
            body.explicitinertial = True
    textures = [texture for texture in spec.textures if _is_one_of(texture.file, missing)]
    for material in spec.materials:
        material.textures = [
            "" if name in {texture.name for texture in textures} else name for name in material.textures
        ]
    for element in (*meshes, *textures):
        spec.delete(element)


def _is_one_of(file: str, missing: tuple[str, ...]) -> bool:
    """Whether a file has one of these names. The engine puts folders before names in files that are included."""
    parts = PurePath(file).parts
    return bool(parts) and any(parts[-len(PurePath(name).parts) :] == PurePath(name).parts for name in missing)


def _has_mass(geom: mujoco.MjsGeom) -> bool:
    """Whether the mass of the body is computed from the geom."""
    return bool(geom.density > 0 if np.isnan(geom.mass) else geom.mass > 0)
