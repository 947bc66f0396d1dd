"""Images keep their pixels; sheets hold their tiles and captions."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twinloop.dashboard.images import jpeg_bytes, png_bytes, write_png
from twinloop.dashboard.sheet import contact_sheet, write_text
from twinloop.errors import StorageError


def decoded(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(content)))


@pytest.mark.parametrize("kind", ["noise", "across", "down"])
def test_pixels_survive(kind: str, rng: np.random.Generator):
    image = rng.integers(0, 256, (40, 30, 3), dtype=np.uint8)
    if kind == "across":
        image[:] = (np.arange(30) * 3 % 256)[None, :, None]
    if kind == "down":
        image[:] = (np.arange(40) * 5 % 256)[:, None, None]
    np.testing.assert_array_equal(decoded(png_bytes(image)), image)
    np.testing.assert_array_equal(decoded(png_bytes(image[:, ::2])), image[:, ::2])


def test_a_jpeg_is_close(rng: np.random.Generator):
    image = np.full((32, 32, 3), rng.integers(0, 256, 3), np.uint8)
    assert np.abs(decoded(jpeg_bytes(image)).astype(int) - image).max() < 8


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(StorageError, match=r"nowhere/a\.png"):
        write_png(tmp_path / "nowhere" / "a.png", np.zeros((2, 2, 3), np.uint8))


def test_captions_are_readable_and_stay_in_their_room():
    def written(text: str, width: int = 60) -> np.ndarray:
        image = np.full((30, 90, 3), 255, np.uint8)
        write_text(image, text, 10, 5, (0, 0, 0), width)
        return image

    letters = {written(letter).tobytes() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_=%+/:#,°×·"}
    assert len(letters) == 49
    long = written("a caption that is far too long for its tile")
    assert (long[:, :10] == 255).all()
    assert (long[:, 70:] == 255).all()
    assert (long[5:24, 10:70] < 100).any()


def test_a_sheet_holds_its_tiles():
    tiles = [np.full((10, 20, 3), 10 * place, np.uint8) for place in range(5)]
    sheet = contact_sheet(tiles, ["a"] * 5, title="five", columns=2)
    for tile in tiles:
        assert (sheet == tile[0, 0]).all(axis=-1).sum() >= 200
