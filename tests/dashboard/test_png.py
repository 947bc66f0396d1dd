"""PNG files hold the pixels that were put in: read back by the rules of the format."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from twinloop.dashboard.glyphs import lettering
from twinloop.dashboard.png import SIGNATURE, png_bytes, write_png
from twinloop.dashboard.sheet import contact_sheet
from twinloop.errors import StorageError


def decoded(data: bytes) -> np.ndarray:
    assert data.startswith(SIGNATURE)
    at, packed, width, height = len(SIGNATURE), b"", 0, 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + content)
        if kind == b"IHDR":
            width, height = struct.unpack_from(">II", content)
        packed += content if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    image = rows[:, 1:].reshape(height, width, 3).astype(np.uint64)
    kind = rows[0, 0]
    return (np.cumsum(image, axis=1 if kind == 1 else 0) if kind else image).astype(np.uint8)


@pytest.mark.parametrize("picture", ["noise", "across", "down"])
def test_pixels_survive(picture: str, rng: np.random.Generator):
    image = rng.integers(0, 256, (40, 30, 3), dtype=np.uint8)
    if picture == "across":
        image[:] = (np.arange(30) * 3 % 256)[None, :, None]
    if picture == "down":
        image[:] = (np.arange(40) * 5 % 256)[:, None, None]
    np.testing.assert_array_equal(decoded(png_bytes(image)), image)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(StorageError, match=r"nowhere/a\.png"):
        write_png(tmp_path / "nowhere" / "a.png", np.zeros((2, 2, 3), np.uint8))


def test_letters_differ():
    letters = {lettering(letter).tobytes() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_=%+/:#,"}
    assert len(letters) == 46


def test_a_sheet_holds_its_tiles():
    tiles = [np.full((10, 20, 3), 10 * number, np.uint8) for number in range(5)]
    sheet = contact_sheet(tiles, ["a"] * 5, title="five", columns=2)
    for tile in tiles:
        assert (sheet == tile[0, 0]).all(axis=-1).sum() >= 200
