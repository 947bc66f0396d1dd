"""Looks of a mesh: the surfaces of an OBJ file by material, with colours and textures of its material library.

Only colours (`Kd`) and colour images (`map_Kd`) are read. STL files have one surface without a material.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from twinloop.durable import read_bounded
from twinloop.errors import ModelError
from twinloop.twin.meshes.mesh_file import inside, read_triangles

MOST_MATERIALS = 16
MOST_LIBRARY_BYTES = 1 << 20
MOST_IMAGE_BYTES = 32 << 20
MOST_IMAGE_PIXELS = 1 << 26
MOST_PIXELS = 1024
"""A larger image is scaled down: cameras see a thing on a few hundred pixels."""
IMAGES = (".png", ".jpg", ".jpeg", ".bmp")

RGBA = tuple[float, float, float, float]


@dataclass(frozen=True)
class MeshMaterial:
    """Colour and image of a surface.

    Attributes:
        rgba: None where the file gives no colour.
        image: (height, width, 3) uint8; None without a texture.
    """

    rgba: RGBA | None = None
    image: np.ndarray | None = None


@dataclass(frozen=True)
class MeshSurface:
    """The faces of one material, in the units of the file.

    Attributes:
        corners: (n, 3, 3) corners of the triangles.
        texcoords: (n, 3, 2) coordinates in the image; None without a texture.
    """

    material: MeshMaterial
    corners: np.ndarray
    texcoords: np.ndarray | None = None


def read_surfaces(path: Path, root: Path) -> tuple[MeshSurface, ...]:
    """The surfaces of a mesh file in the folder `root`. Materials that the file names but does not have are grey.

    Raises:
        ModelError: a material library or image is outside `root`, missing, too large or malformed.
    """
    if path.suffix.lower() != ".obj":
        vertices, faces = read_triangles(path, root)
        return (MeshSurface(MeshMaterial(), vertices[faces]),)
    lines = list(_lines(inside(path, root).read_text(errors="replace")))
    materials: dict[str, MeshMaterial] = {}
    for words in lines:
        if words[0] == "mtllib":
            materials |= _read_library(path.parent / " ".join(words[1:]), root)
    return _surfaces(path, lines, materials)


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            yield words


def _surfaces(path: Path, lines: list[list[str]], materials: dict[str, MeshMaterial]) -> tuple[MeshSurface, ...]:
    vertices: list[list[float]] = []
    coordinates: list[list[float]] = []
    faces: dict[str, list[list[tuple[int, int]]]] = {}
    name = ""
    for words in lines:
        if words[0] == "v":
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == "vt":
            coordinates.append([float(word) for word in [*words[1:3], "0"][:2]])
        elif words[0] == "usemtl":
            name = " ".join(words[1:])
        elif words[0] == "f":
            corners = [_absolute(word, len(vertices), len(coordinates)) for word in words[1:]]
            faces.setdefault(name, []).extend([corners[0], one, other] for one, other in pairwise(corners[1:]))
    if len(faces) > MOST_MATERIALS:
        raise ModelError(f"{path}: has {len(faces)} materials; {MOST_MATERIALS} at most are read: join some of them")
    places, images = np.array(vertices, float), np.array(coordinates, float).reshape(-1, 2)
    out = []
    for name, triangles in faces.items():
        ids = np.array(triangles)
        material = materials.get(name, MeshMaterial())
        textured = material.image is not None and len(images) > 0 and bool((ids[:, :, 1] >= 0).all())
        if textured and ids[:, :, 1].max() >= len(images):
            raise ModelError(f"{path}: a face names texture coordinate {ids[:, :, 1].max() + 1} of {len(images)}")
        out.append(
            MeshSurface(
                material if textured else replace(material, image=None),
                places[ids[:, :, 0]],
                images[ids[:, :, 1]] if textured else None,
            )
        )
    return tuple(out)


def _absolute(word: str, vertices: int, coordinates: int) -> tuple[int, int]:
    """Indices of vertex and texture coordinate from 0; -1 for a corner without a coordinate."""
    parts = word.split("/")
    vertex = int(parts[0])
    coordinate = int(parts[1]) if len(parts) > 1 and parts[1] else 0
    return (
        vertex - 1 if vertex > 0 else vertices + vertex,
        coordinate - 1 if coordinate >= 0 else coordinates + coordinate,
    )


def _read_library(path: Path, root: Path) -> dict[str, MeshMaterial]:
    content = read_bounded(inside(path, root), MOST_LIBRARY_BYTES, error=ModelError)
    materials: dict[str, MeshMaterial] = {}
    name = ""
    for words in _lines(content.decode(errors="replace")):
        try:
            if words[0] == "newmtl":
                name = " ".join(words[1:])
                materials[name] = MeshMaterial()
            elif words[0] == "Kd" and name:
                red, green, blue = (min(max(float(word), 0.0), 1.0) for word in words[1:4])
                materials[name] = replace(materials[name], rgba=(red, green, blue, 1.0))
            elif words[0] == "map_Kd" and name:
                rgba = materials[name].rgba or (1.0, 1.0, 1.0, 1.0)
                materials[name] = MeshMaterial(rgba, image=_read_image(path.parent / words[-1], root))
        except ValueError:
            raise ModelError(f"{path}: is not a valid material library: {' '.join(words)[:80]!r}") from None
    return materials


def _read_image(path: Path, root: Path) -> np.ndarray:
    from PIL import Image  # few cells have textures

    file = inside(path, root)
    if file.suffix.lower() not in IMAGES:
        raise ModelError(f"{path}: a texture is a file of {', '.join(IMAGES)}; convert it, or remove its map_Kd line")
    content = read_bounded(file, MOST_IMAGE_BYTES, error=ModelError)
    try:
        with Image.open(io.BytesIO(content)) as image:
            if image.width * image.height > MOST_IMAGE_PIXELS:
                raise ModelError(f"{path}: has {image.width} x {image.height} pixels; make the texture smaller")
            image.thumbnail((MOST_PIXELS, MOST_PIXELS))
            return np.array(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError(f"{path}: is not a readable image ({error}); export the texture again") from None
