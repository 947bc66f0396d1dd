"""Parts of a page about images of two sources: their distance, the rows that explain it, and the worst mismatches."""

import base64
from typing import TYPE_CHECKING

import numpy as np

from twinloop.dashboard.formatting import interval, number, percent
from twinloop.dashboard.images import png_bytes
from twinloop.diagnose.picture_gap import PictureGap
from twinloop.signals.picture_features import FAMILIES, reduced

if TYPE_CHECKING:
    from twinloop.diagnose.picture_rows import PictureExplanation

SHOWN_PX = 192  # height of an image on the page
MOST_ROWS = 10


def gap_row(gap: PictureGap) -> tuple[str, ...]:
    families = [number(gap.families[family]) if family in gap.families else "–" for family in FAMILIES]
    return (
        gap.camera, number(gap.mmd), interval(*gap.interval), number(gap.chance), number(gap.p_value), *families,
        f"{gap.images[0]} and {gap.images[1]}",
    )  # fmt: skip


def explanation_rows(explanation: "PictureExplanation") -> list[tuple[str, ...]]:
    return [
        (row.column, f"{number(row.value)} {row.unit}".strip(), interval(row.low, row.high), number(row.nominal),
         percent(max(row.share, 0.0)), "yes" if row.is_clear else "no")
        for row in explanation.rows[:MOST_ROWS]
    ]  # fmt: skip


def mismatch_strips(gap: PictureGap, names: tuple[str, str]) -> list[list[tuple[str, str]]]:
    """Pairs of (caption, PNG in base64): the image of the second source, and the nearest one of the first."""
    return [
        [(f"{names[1]}, episode {pair.theirs_at[0]}, row {pair.theirs_at[1]}", _base64(pair.theirs)),
         (f"nearest of {names[0]}: episode {pair.ours_at[0]}, row {pair.ours_at[1]}", _base64(pair.ours))]
        for pair in gap.worst
    ]  # fmt: skip


def _base64(image: np.ndarray) -> str:
    if image.shape[0] > SHOWN_PX:
        image = reduced(image, SHOWN_PX, round(SHOWN_PX * image.shape[1] / image.shape[0])).round().astype(np.uint8)
    return base64.b64encode(png_bytes(np.ascontiguousarray(image))).decode()
