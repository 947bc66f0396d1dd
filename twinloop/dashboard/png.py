"""Writing PNG files: a header, one compressed block, an end."""

import struct
import zlib
from pathlib import Path

import numpy as np

from twinloop.errors import StorageError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
EIGHT_BIT, RGB = 8, 2


def write_png(path: Path, image: np.ndarray) -> None:
    """(height, width, 3) uint8."""
    try:
        path.write_bytes(png_bytes(image))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from None


def png_bytes(image: np.ndarray) -> bytes:
    height, width, _ = image.shape
    # Each row may be stored as the difference to its left or upper neighbour; which is smaller depends on the picture.
    left = image.copy()
    left[:, 1:] -= image[:, :-1]
    up = image.copy()
    up[1:] -= image[:-1]
    variants = list(enumerate((image, left, up)))
    kind, rows = min(variants, key=lambda variant: len(_packed(*variant, level=1)))
    packed = _packed(kind, rows, level=9)
    header = struct.pack(">IIBBBBB", width, height, EIGHT_BIT, RGB, 0, 0, 0)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _packed(kind: int, rows: np.ndarray, *, level: int) -> bytes:
    flat = rows.reshape(len(rows), -1)
    return zlib.compress(np.insert(flat, 0, kind, axis=1).tobytes(), level)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
