"""A contact sheet: images in rows, each with a caption below."""

from collections.abc import Sequence
from functools import cache

import numpy as np

PAPER, INK, FAINT = (250, 250, 248), (40, 42, 46), (105, 107, 111)
GAP_PX = 8
FONT_PX = 12
LINE_PX = FONT_PX + 5


def contact_sheet(tiles: Sequence[np.ndarray], captions: Sequence[str], *, title: str, columns: int) -> np.ndarray:
    """(height, width, 3) uint8 of tiles (h, w, 3), which may differ in size."""
    tall, wide = max(tile.shape[0] for tile in tiles), max(tile.shape[1] for tile in tiles)
    rows = -(-len(tiles) // columns)
    top = GAP_PX + LINE_PX + 2
    height, width = top + rows * (tall + LINE_PX + GAP_PX), GAP_PX + columns * (wide + GAP_PX)
    sheet = np.full((height, width, 3), PAPER, np.uint8)
    write_text(sheet, title, GAP_PX, GAP_PX - 2, INK, width - 2 * GAP_PX)
    for place, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        y = top + place // columns * (tall + LINE_PX + GAP_PX)
        x = GAP_PX + place % columns * (wide + GAP_PX)
        sheet[y : y + tile.shape[0], x : x + tile.shape[1]] = tile
        write_text(sheet, caption, x, y + tall + 2, FAINT, wide)
    return sheet


def write_text(image: np.ndarray, text: str, x: int, y: int, colour: tuple[int, int, int], width_px: int) -> None:
    """Write one line into the image in place, cut off after `width_px`."""
    from PIL import Image, ImageDraw

    room = image[y : y + LINE_PX + 2, x : x + width_px]
    canvas = Image.fromarray(np.ascontiguousarray(room))
    ImageDraw.Draw(canvas).text((0, 0), text, fill=colour, font=_font())
    room[:] = np.asarray(canvas)


@cache
def _font():
    """The font that Pillow carries, so that sheets look alike on every machine."""
    from PIL import ImageFont

    return ImageFont.load_default(FONT_PX)


def side_by_side(images: Sequence[np.ndarray]) -> np.ndarray:
    """Images of several cameras as one tile."""
    tall = max(image.shape[0] for image in images)
    padded = [np.pad(image, ((0, tall - image.shape[0]), (0, 0), (0, 0))) for image in images]
    between = np.full((tall, 2, 3), PAPER, np.uint8)
    return np.concatenate([part for image in padded for part in (image, between)][:-1], axis=1)
