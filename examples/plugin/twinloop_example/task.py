"""lift: grasp the object and hold it 10 cm above the table."""

from collections.abc import Mapping

import numpy as np

import twinloop as tl
from twinloop.twin.entity import Entity, Thing
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import held, lifted
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, lift

OBJECT_XY_M = (0.46, -0.05)
LIFT_M = 0.15
SUCCESS_M = 0.1


def start(draw: Mapping[str, np.ndarray], count: int, entities: Mapping[str, Entity]) -> Start:
    """Place the object on the table, where the draw says."""
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


LIFT = tl.Task(
    name="lift",
    entities=(Thing("object", OBJECTS["cube"]),),
    start=start,
    program=(*grasp("object"), *lift("object", by_m=LIFT_M, speed_m_s=0.3)),
    success=(lifted("object", SUCCESS_M), held("object")),
    language=Language((
        "lift the {object}",
        "pick up the {object}",
        "raise the {object} off the table",
        "hold the {object} in the air",
    )),
    longest_s=12.0,
)  # fmt: skip
