"""Reader of COLLADA files (.dae): the triangles of all shapes in the scene, in metres.

Colours, textures, lights and bones are not read. `up_axis` is ignored, as by the tools that show URDF files: robots'
meshes are written in the frame of their link. The unit of the file is applied.
"""

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np

from twinloop.errors import UsageError

Triangles = tuple[np.ndarray, np.ndarray]
"""(n, 3) vertices and (m, 3) vertex indices."""
MOST_INSTANCES = 2000
DEEPEST = 50
SHAPES = ("triangles", "polylist", "polygons", "trifans", "tristrips")


def read_collada(content: bytes) -> Triangles:
    """(n, 3) vertices in metres and (m, 3) vertex indices.

    Raises:
        UsageError: the file is malformed; the message does not name the file.
    """
    tree = _parse(content)
    return _Document(tree).triangles()


class _NoDoctype(ElementTree.TreeBuilder):
    def doctype(self, *_: object) -> None:
        raise UsageError("a document type or entity is not allowed")

    def start(self, tag, attrs, /):
        return super().start(tag.rpartition("}")[2], attrs)  # without the namespace


def _parse(content: bytes) -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=_NoDoctype())
    try:
        parser.feed(content)
        tree = parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UsageError(f"is not a COLLADA file: not XML: {error}") from None
    if tree.tag != "COLLADA":
        raise UsageError(f"is not a COLLADA file: the root element is <{tree.tag:.40}>")
    return tree


class _Document:
    def __init__(self, tree: ElementTree.Element):
        self._tree = tree
        unit = tree.find("asset/unit")
        self._unit_m = float(_numbers(unit.get("meter", "1"), 1)[0]) if unit is not None else 1.0
        self._geometries = {geometry.get("id", ""): geometry for geometry in tree.iter("geometry")}
        self._nodes = {node.get("id", ""): node for node in tree.iter("node") if node.get("id")}
        self._parts: list[Triangles] = []
        self._read: dict[str, list[Triangles]] = {}

    def triangles(self) -> Triangles:
        scene = self._tree.find("scene/instance_visual_scene")
        name = _target(scene) if scene is not None else ""
        scenes = [scene for scene in self._tree.iter("visual_scene") if not name or scene.get("id") == name]
        for scene in scenes[:1]:
            for node in scene.findall("node"):
                self._visit(node, np.eye(4), 0)
        if not scenes:
            for name in self._geometries:
                self._add(name, np.eye(4))
        vertices, faces, first = [np.zeros((0, 3))], [np.zeros((0, 3), int)], 0
        for points, corners in self._parts:
            vertices.append(points)
            faces.append(corners + first)
            first += len(points)
        return self._unit_m * np.concatenate(vertices), np.concatenate(faces)

    def _visit(self, node: ElementTree.Element, above: np.ndarray, depth: int) -> None:
        if depth > DEEPEST:
            raise UsageError(f"nodes are nested more than {DEEPEST} deep")
        transform = above @ _transform(node)
        for child in node:
            if child.tag == "instance_geometry":
                self._add(_target(child), transform)
            elif child.tag == "node":
                self._visit(child, transform, depth + 1)
            elif child.tag == "instance_node" and _target(child) in self._nodes:
                self._visit(self._nodes[_target(child)], transform, depth + 1)

    def _add(self, name: str, transform: np.ndarray) -> None:
        if name not in self._geometries:
            raise UsageError(f"the scene names geometry {name!r:.60}, which is not in the file")
        if len(self._parts) > MOST_INSTANCES:
            raise UsageError(f"more than {MOST_INSTANCES} shapes; export one mesh")
        if name not in self._read:
            self._read[name] = [part for mesh in self._geometries[name].findall("mesh") for part in _mesh(mesh)]
        mirrored = np.linalg.det(transform[:3, :3]) < 0
        for points, faces in self._read[name]:
            moved = points @ transform[:3, :3].T + transform[:3, 3]
            self._parts.append((moved, faces[:, ::-1] if mirrored else faces))


def _mesh(mesh: ElementTree.Element) -> list[Triangles]:
    sources = {source.get("id", ""): source for source in mesh.findall("source")}
    parts = []
    for shape in mesh:
        if shape.tag in SHAPES:
            inputs = shape.findall("input")
            stride = 1 + max((int(_numbers(source.get("offset", "0"), 1)[0]) for source in inputs), default=0)
            vertex = next((source for source in inputs if source.get("semantic") == "VERTEX"), None)
            if vertex is None:
                raise UsageError(f"<{shape.tag}> has no input VERTEX")
            points = _positions(mesh, sources, _target(vertex, "source"))
            faces = _faces(shape, stride, int(_numbers(vertex.get("offset", "0"), 1)[0]))
            if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
                raise UsageError(f"a face names vertex {int(faces.max())}, but there are {len(points)}")
            parts.append((points, faces))
    return parts


def _positions(mesh: ElementTree.Element, sources: dict[str, ElementTree.Element], name: str) -> np.ndarray:
    vertices = mesh.find("vertices")
    if vertices is not None and vertices.get("id") == name:
        position = next((entry for entry in vertices.findall("input") if entry.get("semantic") == "POSITION"), None)
        name = _target(position, "source") if position is not None else ""
    array = sources[name].find("float_array") if name in sources else None
    if array is None:
        raise UsageError(f"no positions of vertices named {name!r:.60}")
    accessor = sources[name].find("technique_common/accessor")
    stride = int(accessor.get("stride", "3")) if accessor is not None else 3
    numbers = _numbers(array.text or "")
    if stride < 3 or len(numbers) % stride:
        raise UsageError(f"{len(numbers)} numbers of {name!r:.60} are no points of {stride}")
    return numbers.reshape(-1, stride)[:, :3]


def _faces(shape: ElementTree.Element, stride: int, offset: int) -> np.ndarray:
    runs = [_numbers(run.text or "").astype(int) for run in shape.findall("p")]
    corners = [run[: len(run) // stride * stride].reshape(-1, stride)[:, offset] for run in runs]
    if shape.tag == "triangles":
        joined = np.concatenate([*corners, np.zeros(0, int)])
        return joined[: len(joined) // 3 * 3].reshape(-1, 3)
    if shape.tag == "polylist":
        counts = _numbers(shape.findtext("vcount") or "").astype(int)
        joined = np.concatenate([*corners, np.zeros(0, int)])
        if counts.sum() != len(joined):
            raise UsageError(f"<vcount> adds up to {counts.sum()}, but there are {len(joined)} corners")
        corners = np.split(joined, np.cumsum(counts)[:-1])
    if shape.tag == "tristrips":
        turned = [(run, index) for run in corners for index in range(len(run) - 2)]
        faces = [run[[i, i + 1, i + 2]] if i % 2 == 0 else run[[i + 1, i, i + 2]] for run, i in turned]
    else:
        faces = [(run[0], one, other) for run in corners if len(run) > 2 for one, other in pairwise(run[1:])]
    return np.array(faces, int).reshape(-1, 3)


def _transform(node: ElementTree.Element) -> np.ndarray:
    out = np.eye(4)
    for child in node:
        step = np.eye(4)
        if child.tag == "matrix":
            step = _numbers(child.text or "", 16).reshape(4, 4)
        elif child.tag == "translate":
            step[:3, 3] = _numbers(child.text or "", 3)
        elif child.tag == "scale":
            step[:3, :3] = np.diag(_numbers(child.text or "", 3))
        elif child.tag == "rotate":
            step[:3, :3] = _rotation(_numbers(child.text or "", 4))
        out = out @ step
    return out


def _rotation(axis_angle_deg: np.ndarray) -> np.ndarray:
    axis = axis_angle_deg[:3] / max(float(np.linalg.norm(axis_angle_deg[:3])), 1e-12)
    angle = np.deg2rad(axis_angle_deg[3])
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def _target(element: ElementTree.Element, attribute: str = "url") -> str:
    return element.get(attribute, "").removeprefix("#")


def _numbers(text: str, count: int | None = None) -> np.ndarray:
    try:
        numbers = np.array(text.split(), float)
    except ValueError:
        raise UsageError(f"{text.strip()[:40]!r} are no numbers") from None
    if count is not None and len(numbers) != count:
        raise UsageError(f"{text.strip()[:40]!r}: {count} numbers were expected")
    return numbers
