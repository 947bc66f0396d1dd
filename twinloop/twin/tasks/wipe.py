"""Wipe a stain off the table with a pad."""

from collections.abc import Mapping

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import stain
from twinloop.twin.fixtures.stain import APART_M
from twinloop.twin.language import Language
from twinloop.twin.objects import SceneObject
from twinloop.twin.placing import Layout
from twinloop.twin.relations import covered
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, lift, wipe
from twinloop.twin.task import Task

PAD_XY_M, STAIN_XY_M = (0.44, -0.18), (0.5, -0.02)
PAD = SceneObject("pad", "box", (0.035, 0.02, 0.022), np.pi, mass_kg=0.06, rgba=(0.9, 0.76, 0.2, 1.0))
STAIN = stain("stain", cells=6)
CELLS = tuple(cell.name for cell in STAIN)
SHARE = 0.8


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    for number, cell in enumerate(CELLS):
        layout.fixture(cell, (STAIN_XY_M[0], STAIN_XY_M[1] + number * APART_M))
    layout.thing("pad", PAD_XY_M)
    return layout.done()


WIPE = Task(
    name="wipe",
    entities=(Thing("pad", PAD), *STAIN),
    start=start,
    program=(
        *grasp("pad", raise_m=0.008),
        *lift("pad", by_m=0.07),
        *wipe("pad", CELLS[0], CELLS[-1], done=covered(CELLS, share=1.0), words="wipe the stain"),
        *lift("pad", by_m=0.08),
    ),
    success=(covered(CELLS, share=SHARE),),
    language=Language((
        "wipe the stain with the {pad}",
        "wipe off the stain",
        "clean the table with the {pad}",
        "rub the {pad} over the stain",
        "wipe the table clean",
        "remove the stain with the {pad}",
        "take the {pad} and wipe the stain away",
        "clean up the spill",
        "move the {pad} over the whole stain",
        "use the {pad} to clean the stain",
        "scrub the stain off the table",
        "please wipe this stain away",
    )),
    longest_s=30.0,
)  # fmt: skip
