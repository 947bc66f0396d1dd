"""A contact sheet: pictures in rows, each with a line below."""

from collections.abc import Sequence

import numpy as np

from twinloop.dashboard.glyphs import HEIGHT, WIDTH, lettering

PAPER, INK, FAINT = (250, 250, 248), (40, 42, 46), (120, 122, 126)
GAP_PX = 8
SCALE = 2
LINE_PX = HEIGHT * SCALE + 6


def contact_sheet(tiles: Sequence[np.ndarray], captions: Sequence[str], *, title: str, columns: int) -> np.ndarray:
    """(height, width, 3) uint8 of tiles (h, w, 3), which may differ in size."""
    tall, wide = max(tile.shape[0] for tile in tiles), max(tile.shape[1] for tile in tiles)
    rows = -(-len(tiles) // columns)
    top = GAP_PX + LINE_PX
    height, width = top + rows * (tall + LINE_PX + GAP_PX), GAP_PX + columns * (wide + GAP_PX)
    sheet = np.full((height, width, 3), PAPER, np.uint8)
    write(sheet, title, GAP_PX, GAP_PX, INK, width - 2 * GAP_PX)
    for number, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        y = top + number // columns * (tall + LINE_PX + GAP_PX)
        x = GAP_PX + number % columns * (wide + GAP_PX)
        sheet[y : y + tile.shape[0], x : x + tile.shape[1]] = tile
        write(sheet, caption, x, y + tall + 4, FAINT, wide)
    return sheet


def write(image: np.ndarray, text: str, x: int, y: int, colour: tuple[int, int, int], room_px: int) -> None:
    """Write into the image, as much as there is room for."""
    letters = lettering(text[: room_px // (WIDTH * SCALE)], SCALE)
    area = image[y : y + letters.shape[0], x : x + letters.shape[1]]
    area[letters[: area.shape[0], : area.shape[1]]] = colour


def side_by_side(images: Sequence[np.ndarray]) -> np.ndarray:
    """Pictures of several cameras as one tile."""
    tall = max(image.shape[0] for image in images)
    padded = [np.pad(image, ((0, tall - image.shape[0]), (0, 0), (0, 0))) for image in images]
    between = np.full((tall, 2, 3), PAPER, np.uint8)
    return np.concatenate([part for image in padded for part in (image, between)][:-1], axis=1)
