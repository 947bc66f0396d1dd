"""The page of a camera calibration: real frames, the twin before and after, and how alike they are."""

import base64
from pathlib import Path

import numpy as np

from twinloop.calibrate.visual.anchor import Anchored
from twinloop.dashboard.formatting import interval, number
from twinloop.dashboard.images import png_bytes
from twinloop.dashboard.page import render_page, write_page
from twinloop.randomize.table import BY_NAME

MEANINGS = {
    "light": "brightness, log2 of light", "red": "red over green, log", "blue": "blue over green, log",
    "colour": "spread of colours, log", "dark": "noise in the dark, levels²", "bright": "noise of light, share²",
    "edge": "steepness of edges, log",
}  # fmt: skip


def write_anchoring_page(anchored: Anchored, target: Path) -> Path:
    return write_page(target, render_anchoring(anchored))


def render_anchoring(anchored: Anchored) -> str:
    patch = anchored.patch
    camera = patch.provenance.twin
    before, after = number(anchored.distance_before), number(anchored.distance_after)
    return render_page(
        "anchoring.html",
        title=f"{camera} · anchoring",
        heading=camera,
        lead=f"distance of image patches {before} before, {after} after, in levels of 255",
        media=("pictures",),
        strips=[
            [(name, _base64(image)) for name, image in zip(("real", "twin before", "twin after"), images, strict=True)]
            for images in anchored.pictures
        ],
        fitted=[
            (name, number(value.value), interval(value.low, value.high), value.unit,
             interval(*patch.ranges[BY_NAME[name.partition(".")[0]].name]))
            for name, value in patch.fitted.items()
        ],
        unknown=patch.unknown,
        features=[
            (MEANINGS[name], number(values["real"]), number(values["before"]), number(values["after"]))
            for name, values in patch.provenance.residual.items()
        ],
    )  # fmt: skip


def _base64(image: np.ndarray) -> str:
    return base64.b64encode(png_bytes(image)).decode()
