"""Meshes, height fields, textures and materials of a compiled model as elements of a spec with files."""

import io

import mujoco
import numpy as np
from PIL import Image

from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.surfaces import Surface, obj_text

FOLDER = "assets"
MATERIAL = (
    "texuniform", "texrepeat", "emission", "specular", "shininess", "reflectance", "metallic", "roughness", "rgba",
)  # fmt: skip
CUBE = {mujoco.mjtTexture.mjTEXTURE_CUBE.value, mujoco.mjtTexture.mjTEXTURE_SKYBOX.value}
SIDES = "RLUDFB"  # order of the sides of a cube in the model's pixels
INERTIAS = tuple(mujoco.mjtMeshInertia.__members__.values())


def file_name(name: str, suffix: str, taken: set[str]) -> str:
    """A name of a file in the assets folder that is safe on every system and not taken."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)[:80] or "asset"
    candidate, number = f"{plain}.{suffix}", 2
    while candidate.lower() in taken:
        candidate, number = f"{plain}_{number}.{suffix}", number + 1
    taken.add(candidate.lower())
    return candidate


def add_assets(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    """Add all assets. Their files are in `spec.assets`."""
    spec.meshdir = spec.texturedir = FOLDER
    files: dict[str, bytes] = {}
    taken: set[str] = set()
    for mesh in range(model.nmesh):
        _add_mesh(spec, model, mesh, names["mesh"][mesh], files, taken)
    for hfield in range(model.nhfield):
        rows, columns = int(model.hfield_nrow[hfield]), int(model.hfield_ncol[hfield])
        start = model.hfield_adr[hfield]
        spec.add_hfield(
            name=names["hfield"][hfield], size=model.hfield_size[hfield], nrow=rows, ncol=columns,
            userdata=model.hfield_data[start : start + rows * columns],
        )  # fmt: skip
    for texture in range(model.ntex):
        add_texture(spec, model, texture, names["texture"][texture], files, taken)
    spec.assets = files
    for material in range(model.nmat):
        add_material(spec, model, material, names["material"][material], names)


def mesh_surface(model: mujoco.MjModel, mesh: int) -> Surface:
    """The mesh as in its file: before the compiler moved it to its centre and principal axes."""
    start, faces = model.mesh_vertadr[mesh], _rows(model.mesh_faceadr, model.mesh_facenum, mesh)
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(float)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[mesh])
    rotation = rotation.reshape(3, 3)
    texcoords = None
    if model.mesh_texcoordadr[mesh] >= 0:
        coordinates = model.mesh_texcoord[_rows(model.mesh_texcoordadr, model.mesh_texcoordnum, mesh)]
        texcoords = coordinates[model.mesh_facetexcoord[faces]]
    normals = model.mesh_normal[_rows(model.mesh_normaladr, model.mesh_normalnum, mesh)].astype(float)
    return Surface(
        vertices=vertices @ rotation.T + model.mesh_pos[mesh],
        faces=model.mesh_face[faces],
        corner_normals=(normals @ rotation.T)[model.mesh_facenormal[faces]],
        corner_texcoords=texcoords,
    )


def _rows(addresses: np.ndarray, counts: np.ndarray, index: int) -> slice:
    return slice(int(addresses[index]), int(addresses[index] + counts[index]))


def _add_mesh(
    spec: mujoco.MjSpec, model: mujoco.MjModel, mesh: int, name: str, files: dict[str, bytes], taken: set[str]
) -> None:
    content = obj_text(mesh_surface(model, mesh)).encode()
    hull = int(model.mesh_graph[model.mesh_graphadr[mesh]]) if model.mesh_graphadr[mesh] >= 0 else 0
    inertia, most = _compiler_options(content, model.mesh_pos[mesh], model.mesh_quat[mesh], hull)
    file = file_name(name, "obj", taken)
    files[f"{FOLDER}/{file}"] = content
    spec.add_mesh(name=name, file=file, inertia=inertia, maxhullvert=most)


def _compiler_options(content: bytes, pos: np.ndarray, quat: np.ndarray, hull: int) -> tuple[int, int]:
    """Inertia type and hull size with which the compiler gives the mesh the same frame and hull as in the model."""
    closest, best = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL, np.inf
    most = -1
    for inertia in INERTIAS:
        trial = mujoco.MjSpec()
        trial.assets = {"mesh.obj": content}
        trial.add_mesh(name="mesh", file="mesh.obj", inertia=inertia)
        body = trial.worldbody.add_body(mass=1, inertia=[1, 1, 1], explicitinertial=True)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
        try:
            compiled = trial.compile()
        except ValueError:
            continue  # an open mesh has no volume
        distance = np.abs(compiled.mesh_pos[0] - pos).max() + 1 - abs(float(compiled.mesh_quat[0] @ quat))
        if distance < best - 1e-9:
            closest, best = inertia, distance
            vertices = int(compiled.mesh_graph[0]) if compiled.mesh_graphadr[0] >= 0 else 0
            most = hull if 4 <= hull < vertices else -1
    return closest.value, most


def texture_pixels(model: mujoco.MjModel, texture: int) -> np.ndarray:
    """(height, width, channels) pixels. The six sides of a cube are stacked, or there is one for all of them."""
    height, width, channels = (int(getattr(model, f"tex_{side}")[texture]) for side in ("height", "width", "nchannel"))
    start = int(model.tex_adr[texture])
    return model.tex_data[start : start + height * width * channels].reshape(height, width, channels)


def add_texture(
    spec: mujoco.MjSpec, model: mujoco.MjModel, texture: int, name: str, files: dict[str, bytes], taken: set[str]
) -> None:
    pixels = texture_pixels(model, texture)
    kind = int(model.tex_type[texture])
    file = file_name(name, "png", taken)
    element = spec.add_texture(name=name, type=kind, file=file, nchannel=pixels.shape[2])
    element.colorspace = int(model.tex_colorspace[texture])
    if kind in CUBE and pixels.shape[0] == 6 * pixels.shape[1]:
        sides = pixels.reshape(6, -1)
        if (sides == sides[0]).all():
            pixels = pixels[: pixels.shape[1]]
        else:
            element.gridsize, element.gridlayout = [6, 1], SIDES + 6 * "."
    files[f"{FOLDER}/{file}"] = png(pixels)


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(stream, format="PNG")
    return stream.getvalue()


def add_material(spec: mujoco.MjSpec, model: mujoco.MjModel, index: int, name: str, names: Names) -> None:
    material = spec.add_material(name=name)
    for field in MATERIAL:
        value = getattr(model, f"mat_{field}")[index]
        setattr(material, field, value.tolist() if isinstance(value, np.ndarray) else value.item())
    for role, texture in enumerate(model.mat_texid[index]):
        if texture >= 0:
            material.textures[role] = names["texture"][texture]
