"""Reads organised point clouds from PCD files of the Point Cloud Library: binary, compressed (LZF) or text."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.durable import read_bounded
from twinloop.errors import DatasetError

MOST_BYTES = 256 * 1024 * 1024
MOST_POINTS = 1 << 25
_KINDS = {"F": "f", "U": "u", "I": "i"}


@dataclass(frozen=True)
class Scan:
    """A scan. `points_m`: (height, width, 3) in the camera's frame, x right, y down, z forward; NaN without depth."""

    name: str
    points_m: np.ndarray


def read_scan(path: Path) -> Scan:
    """Read an organised scan from a PCD file.

    Raises:
        DatasetError: the file is damaged, too large, or not an organised scan.
    """
    content = read_bounded(path, MOST_BYTES, error=DatasetError)
    head, body = _header(path, content)
    try:
        names, sizes, kinds = head["FIELDS"], [int(text) for text in head["SIZE"]], head["TYPE"]
        counts = [int(text) for text in head.get("COUNT", ["1"] * len(names))]
        width, height, form = int(head["WIDTH"][0]), int(head["HEIGHT"][0]), head["DATA"][0]
        types = [np.dtype(f"<{_KINDS[kind]}{size}") for kind, size in zip(kinds, sizes, strict=True)]
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise DatasetError(f"{path}: the header of this PCD file cannot be read: {error!r}") from None
    points = width * height
    if not 0 < points <= MOST_POINTS or not {"x", "y", "z"} <= set(names):
        raise DatasetError(f"{path}: {points:,} points with {', '.join(names)}; an image of x, y, z was expected")
    if height == 1:
        raise DatasetError(f"{path}: is a list of points; an organised scan (HEIGHT above 1) was expected")
    fields = enumerate(zip(names, types, counts, strict=True))
    record = np.dtype([(f"{name}{place}", kind, (count,)) for place, (name, kind, count) in fields])
    try:
        match form:
            case "binary":
                rows = np.frombuffer(body, record, points)
                columns = [rows[name] for name in record.names or ()]
            case "binary_compressed":
                columns = _columns(_unpacked(path, body, record.itemsize * points), types, counts, points)
            case "ascii":
                table = np.array(body.split(), float).reshape(points, sum(counts))
                columns = np.split(table, np.cumsum(counts)[:-1], axis=1)
            case _:
                raise DatasetError(f"{path}: DATA {form!r} is unknown; ascii, binary or binary_compressed was expected")
    except ValueError as error:
        raise DatasetError(f"{path}: has fewer points than its header declares: {error}") from None
    xyz = np.stack([columns[names.index(axis)][:, 0].astype(float) for axis in "xyz"], axis=1)
    return Scan(path.stem, xyz.reshape(height, width, 3))


def _header(path: Path, content: bytes) -> tuple[dict[str, list[str]], bytes]:
    head: dict[str, list[str]] = {}
    place = 0
    while "DATA" not in head:
        end = content.find(b"\n", place, place + 4096)
        if end < 0 or len(head) > 32:
            raise DatasetError(f"{path}: is not a PCD file: its header has no line DATA")
        words = content[place:end].decode("ascii", errors="replace").split()
        if words and not words[0].startswith("#"):
            head[words[0]] = words[1:]
        place = end + 1
    return head, content[place:]


def _columns(data: bytes, types: list[np.dtype], counts: list[int], points: int) -> list[np.ndarray]:
    """Split decompressed data into fields, which are stored one after the other."""
    columns, place = [], 0
    for kind, count in zip(types, counts, strict=True):
        columns.append(np.frombuffer(data, kind, points * count, place).reshape(points, count))
        place += kind.itemsize * points * count
    return columns


def _unpacked(path: Path, body: bytes, expected: int) -> bytes:
    packed, whole = (int(number) for number in np.frombuffer(body, "<u4", 2))
    if whole != expected or packed > len(body) - 8:
        raise DatasetError(f"{path}: {packed:,} packed bytes for {whole:,}, but {expected:,} were expected")
    content = _lzf(body[8 : 8 + packed], whole)
    if len(content) != whole:
        raise DatasetError(f"{path}: its compressed part ends early: {len(content):,} of {whole:,} bytes")
    return content


def _lzf(packed: bytes, most: int) -> bytes:
    """Decompress LZF data, up to `most` bytes.

    A control byte below 32 is the number of literal bytes that follow, minus one. In any other control byte the upper
    three bits are the length of a back-reference, minus two; 7 means that the next byte is added to the length. The
    lower five bits and the byte after that are its distance, minus one.
    """
    out, place, end = bytearray(), 0, len(packed)
    while place < end and len(out) < most:
        control = packed[place]
        place += 1
        if control < 32:
            out += packed[place : place + control + 1]
            place += control + 1
            continue
        length = control >> 5
        if length == 7 and place < end:
            length += packed[place]
            place += 1
        if place >= end:
            break
        start = len(out) - ((control & 31) << 8) - packed[place] - 1
        place += 1
        length += 2
        if start < 0:
            break
        if start + length <= len(out):
            out += out[start : start + length]
        else:
            # The back-reference overlaps its own output, so the pattern repeats.
            pattern = bytes(out[start:])
            out += (pattern * (length // len(pattern) + 1))[:length]
    return bytes(out[:most])
