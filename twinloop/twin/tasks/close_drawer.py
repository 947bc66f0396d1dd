"""Push an open drawer shut."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from twinloop.twin.entity import Draw, Entity
from twinloop.twin.language import Language
from twinloop.twin.placing import Layout
from twinloop.twin.relations import opened
from twinloop.twin.scene import Start
from twinloop.twin.tasks.open_drawer import DRAWER_XY_M, OBJECT_XY_M, OPEN_DRAWER
from twinloop.twin.tasks.put_in_drawer import CLOSED_M, close_it

OPEN_M = 0.11


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("drawer", DRAWER_XY_M, value=np.full(count, OPEN_M))
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


CLOSE_DRAWER = replace(
    OPEN_DRAWER,
    name="close_drawer",
    start=start,
    program=close_it(),
    success=(opened("drawer", CLOSED_M, less=True),),
    language=Language((
        "close the {drawer}",
        "push the {drawer} shut",
        "shut the {drawer}",
        "push the {drawer} in",
        "slide the {drawer} closed",
        "get the {drawer} closed",
        "please close the {drawer}",
        "push the open {drawer} back in",
        "make sure the {drawer} is closed",
        "close it",
        "push on the handle until the {drawer} is shut",
        "do not leave the {drawer} open",
    )),
)  # fmt: skip
