"""Take a cloth out of its holder and lay it flat in the target zone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.fixtures import holder
from twinloop.twin.language import Language
from twinloop.twin.objects import SceneObject
from twinloop.twin.placing import SHIFT_ROWS, Layout
from twinloop.twin.relations import let_go, lies_flat
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, lay, lift
from twinloop.twin.task import Task

HOLDER_XY_M, GOAL_XY_M = (0.48, -0.14), (0.48, 0.1)
HALF_M, THIN_M = 0.05, 0.003
RAISE_M = 0.03
CLOTH = SceneObject(
    "cloth", "box", (HALF_M, THIN_M, HALF_M), np.pi, mass_kg=0.1, rgba=(0.8, 0.3, 0.3, 1.0), young_kpa=300, cloth=True
)
MASS_KG = (0.02, 0.1)
"""A sheet of 10 x 10 x 0.6 cm of thick felt (0.3 g/cm³) to one of solid rubber. The range of the row is for cubes: at
its end of 0.4 kg the sheet would have the density of zinc."""
WITHIN_M = 0.06
CLEAR_M = 0.2
"""Radius around the goal in which the hand moves close above the table while it lays the cloth down."""
SHORT_CLEAR_M = 0.015
PRESS_N = 20.0
"""Fingers that meet the cloth or its holder on the way down press on it with this force at most."""


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("holder", HOLDER_XY_M)
    layout.zone("goal", GOAL_XY_M, clear_m=CLEAR_M)
    # The cloth stands in the holder, wherever that is.
    poses = layout.at("holder").copy()
    poses[:, 2] += HALF_M + THIN_M
    layout.pose("cloth", poses)
    return layout.done()


TAKE = (
    *grasp("cloth", raise_m=RAISE_M, words="grasp the {cloth}", press_n=PRESS_N),
    *lift("cloth", by_m=0.14),
)


@cache
def fitted(robot: Robot) -> Task:
    """The task for a short arm: its fingers end near the tool, and few of its postures are level."""
    if not robot.is_short:
        return LAY_CLOTH
    low = lay("cloth", "goal", length_m=HALF_M + RAISE_M, clear_m=SHORT_CLEAR_M, level=False)
    return replace(LAY_CLOTH, program=(*TAKE, *low), fitted=None)


LAY_CLOTH = Task(
    name="lay_cloth",
    entities=(Thing("cloth", CLOTH), zone("goal", radius_m=WITHIN_M), holder("holder")),
    start=start,
    program=(*TAKE, *lay("cloth", "goal", length_m=HALF_M + RAISE_M)),
    success=(lies_flat("cloth", "goal", within_m=WITHIN_M), let_go("cloth")),
    language=Language((
        "lay the {cloth} flat in the target zone",
        "take the {cloth} and lay it down on the green circle",
        "spread the {cloth} on the target",
        "put the {cloth} flat on the table in the target zone",
        "pull the {cloth} out of the {holder} and lay it down",
        "lay the {cloth} down flat",
        "place the {cloth} on the green disc",
        "take the {cloth} from the {holder} to the target zone",
        "the {cloth} goes flat onto the green circle",
        "lay out the {cloth} on the target",
        "get the {cloth} out of the {holder} and spread it in the target zone",
        "put the {cloth} down flat on the green circle",
    )),
    goal="goal",
    unvaried=(*SHIFT_ROWS, "object_stiffness_kpa"),
    ranges=(("object_mass_kg", *MASS_KG),),
    fitted=fitted,
)  # fmt: skip
