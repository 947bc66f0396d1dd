"""The page of a camera's anchoring: real frames, the twin before and after, and the numbers that say how alike."""

import base64
from pathlib import Path

import numpy as np

from twinloop.calibrate.visual.anchor import Anchored
from twinloop.dashboard.page import PageSection, card, cards, page, table, text, write_page
from twinloop.dashboard.png import png_bytes
from twinloop.dashboard.svg import number, safe
from twinloop.randomize.table import BY_NAME

MEANINGS = {
    "light": "brightness, log2 of light", "red": "red over green, log", "blue": "blue over green, log",
    "colour": "spread of colours, log", "dark": "noise in the dark, levels²", "bright": "noise of light, share²",
    "edge": "steepness of edges, log",
}  # fmt: skip


def write_anchoring_page(found: Anchored, target: Path) -> Path:
    return write_page(target, render_anchoring(found))


def render_anchoring(found: Anchored) -> str:
    camera = found.patch.provenance.twin
    head = (
        f"<header><h1>{safe(camera)}</h1><p class='lead'>distance of patches "
        f"{number(found.distance_before)} before, {number(found.distance_after)} after, in levels of 255</p></header>"
    )
    sections = [_side_by_side(found), _rows(found), _features(found)]
    return page(f"{camera} · anchoring", head + "".join(section.html() for section in sections), pictures=True)


def _side_by_side(found: Anchored) -> PageSection:
    drawn = []
    for real, before, after in found.pictures:
        pair = "".join(_picture(image, name) for image, name in ((real, "real"), (before, "before"), (after, "after")))
        drawn.append(card("real · twin before · twin after", pair))
    said = text(
        "Real frames are cut and shrunk to the twin camera's size. What stands in the scene is not the same: only how "
        "the camera shows it is matched."
    )
    return PageSection("pictures", "Side by side", said + cards(drawn, "wide"))


def _picture(image: np.ndarray, name: str) -> str:
    data = base64.b64encode(png_bytes(np.ascontiguousarray(image))).decode()
    return f'<img alt="{safe(name)}" style="width:32%;margin-right:1%" src="data:image/png;base64,{data}">'


def _rows(found: Anchored) -> PageSection:
    rows = [
        (name, number(each.value), f"{number(each.low)} to {number(each.high)}", each.unit, *_range(found, name))
        for name, each in found.patch.fitted.items()
    ]
    heads = ("parameter", "value", "90 % interval", "unit", "proposed range")
    inner = table(heads, rows, numbers=(1, 2, 4))
    for name, unknown in found.patch.unknown.items():
        inner += text(f"`{name}` is not known: {unknown.reason}. {unknown.reveals} would tell.")
    return PageSection("rows", "What the frames tell", card("", inner))


def _range(found: Anchored, name: str) -> tuple[str]:
    low, high = found.patch.ranges[BY_NAME[name.partition(".")[0]].name]
    return (f"{number(low)} to {number(high)}",)


def _features(found: Anchored) -> PageSection:
    rows = [
        (MEANINGS[name], number(each["real"]), number(each["before"]), number(each["after"]))
        for name, each in found.patch.provenance.residual.items()
    ]
    inner = table(("what is compared", "real", "twin before", "twin after"), rows, numbers=(1, 2, 3))
    said = "Means over all runs of frames, by the same estimators for real and drawn ones."
    return PageSection("features", "What was matched", card("", inner, said))
