"""Fetch the object from another table and put it down in the target zone: one long task for a robot that travels."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.fixtures import side_table
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.phase import Phase
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Task

SIDE_TABLE_XY_M, TARGET_XY_M = (0.35, 1.9), (0.48, 0.0)
ON_TABLE_XY_M = (0.1, -0.1)
"""The object on the side table, from the middle of the table."""
TARGET_RADIUS_M = 0.05
FAR_S = 15.0
"""Longest time of a phase in which the base travels."""


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("side_table", SIDE_TABLE_XY_M)
    place_m = np.array(ON_TABLE_XY_M) + layout.offset_m("object")
    layout.on("object", "side_table", place_m, layout.yaw_rad("object"))
    layout.zone("goal", TARGET_XY_M)
    return layout.done()


def _from_afar(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    first, *rest = phases
    return replace(first, longest_s=FAR_S), *rest


FETCH = Task(
    name="fetch",
    entities=(Thing("object", OBJECTS["cube"]), side_table("side_table"), zone("goal", radius_m=TARGET_RADIUS_M)),
    start=start,
    program=(
        *_from_afar(grasp("object")),
        *lift("object"),
        *_from_afar(carry("object", to="goal")),
        *place("object", on="goal"),
    ),
    success=(at("object", "goal", within_m=TARGET_RADIUS_M), at_rest("object"), let_go("object")),
    language=Language((
        "fetch the {object} from the {side_table} and put it in the target zone",
        "bring the {object} from the {side_table} to the target zone",
        "go and get the {object} from the {side_table}",
        "drive to the {side_table}, take the {object} and bring it here",
        "the {object} is on the {side_table}; put it on the green circle",
        "pick up the {object} from the {side_table} and place it in the target zone",
        "get the {object} over there and set it down in the target zone",
        "carry the {object} from the {side_table} to the green disc",
        "move the {object} from the {side_table} to the target",
        "collect the {object} from the {side_table} and drop it off at the target zone",
        "take the {object} off the {side_table} and put it down on the target",
        "bring me the {object} from the {side_table}",
    )),
    longest_s=45.0,
    goal="goal",
    travels=True,
)  # fmt: skip
