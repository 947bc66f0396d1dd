"""Reader of PLY files: vertices and faces, as text or binary. Colours, normals and texture coordinates are not read."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from twinloop.errors import UsageError
from twinloop.twin.meshes.collada import Triangles

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
INDEX_NAMES = ("vertex_indices", "vertex_index")
END = b"end_header"


@dataclass(frozen=True)
class _Property:
    """A property of an element. count: type of the length of a list; "" for a single value."""

    name: str
    kind: str
    count: str = ""


@dataclass(frozen=True)
class _Element:
    name: str
    rows: int
    properties: tuple[_Property, ...]


def read_ply(content: bytes) -> Triangles:
    """(n, 3) vertices and (m, 3) vertex indices.

    Raises:
        UsageError: the file is malformed; the message does not name the file.
    """
    head, end, body = content.partition(END)
    if not head.startswith(b"ply") or not end:
        raise UsageError("is not a PLY file: it has no header")
    order, elements = _header(head)
    body = body[body.find(b"\n") + 1 :]
    try:
        if any(element.rows > len(body) for element in elements):
            raise ValueError
        tables = _text(body, elements) if not order else _binary(body, elements, order)
    except (ValueError, IndexError):
        raise UsageError("is not a valid PLY file: the data do not fit the header; it may be cut off") from None
    vertices = tables.get("vertex", {})
    if not all(axis in vertices for axis in "xyz"):
        raise UsageError("is not a valid PLY file: its vertices have no x, y and z")
    faces = next((tables["face"][name] for name in INDEX_NAMES if name in tables.get("face", {})), [])
    triangles = [(face[0], one, other) for face in faces for one, other in pairwise(face[1:])]
    return np.stack([np.asarray(vertices[axis], float) for axis in "xyz"], axis=1), (
        np.array(triangles, int).reshape(-1, 3)
    )


def _header(head: bytes) -> tuple[str, list[_Element]]:
    """Byte order, "" for text, and the elements in the order of the data."""
    order, elements = None, []
    for line in head.decode("ascii", "replace").splitlines():
        words = line.split()
        try:
            if words[:1] == ["format"]:
                order = ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(_Element(words[1], int(words[2]), ()))
            elif words[:2] == ["property", "list"]:
                elements[-1] = _with(elements[-1], _Property(words[4], TYPES[words[3]], TYPES[words[2]]))
            elif words[:1] == ["property"]:
                elements[-1] = _with(elements[-1], _Property(words[2], TYPES[words[1]]))
        except (IndexError, KeyError, ValueError):
            raise UsageError(f"is not a valid PLY file: header line {line[:60]!r}") from None
    if order is None:
        raise UsageError("is not a valid PLY file: its header names no format")
    return order, elements


def _with(element: _Element, added: _Property) -> _Element:
    return _Element(element.name, element.rows, (*element.properties, added))


Tables = dict[str, dict[str, list]]
"""Element -> property -> one value, or one list, for each row."""


def _text(body: bytes, elements: list[_Element]) -> Tables:
    words = iter(body.split())
    tables: Tables = {}
    for element in elements:
        table = tables[element.name] = {prop.name: [] for prop in element.properties}
        for _ in range(element.rows):
            for prop in element.properties:
                numbers = [float(next(words, b"end")) for _ in range(int(next(words, b"end")) if prop.count else 1)]
                table[prop.name].append([int(number) for number in numbers] if prop.count else numbers[0])
    return tables


def _binary(body: bytes, elements: list[_Element], order: str) -> Tables:
    tables: Tables = {}
    place = 0
    for element in elements:
        if any(prop.count for prop in element.properties):
            tables[element.name], place = _rows_with_lists(body, place, element, order)
            continue
        dtype = np.dtype([(f"{number}", order + prop.kind) for number, prop in enumerate(element.properties)])
        rows = np.frombuffer(body, dtype, element.rows, place)
        place += rows.nbytes
        tables[element.name] = {prop.name: rows[f"{number}"].tolist() for number, prop in enumerate(element.properties)}
    return tables


def _rows_with_lists(body: bytes, place: int, element: _Element, order: str) -> tuple[dict[str, list], int]:
    table: dict[str, list] = {prop.name: [] for prop in element.properties}
    for _ in range(element.rows):
        for prop in element.properties:
            count = 1
            if prop.count:
                count = int(np.frombuffer(body, order + prop.count, 1, place)[0])
                place += np.dtype(prop.count).itemsize
            values = np.frombuffer(body, order + prop.kind, count, place)
            place += values.nbytes
            table[prop.name].append(values.tolist() if prop.count else values[0])
    return table, place
