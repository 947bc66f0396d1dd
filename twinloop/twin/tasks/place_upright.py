"""Stand a lying bottle up in the target zone."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.phase import Phase
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go, upright
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, lift, retreat, upend
from twinloop.twin.task import Task

OBJECT_XY_M, GOAL_XY_M, RADIUS_M = (0.44, -0.14), (0.54, 0.12), 0.06
FAR_GOAL_XY_M, FRONT_M = (0.70, 0.12), 0.03
"""A hand that leans back by 35° when it grips leans out by 55° at the end. At this distance so101 leans out by 75° and
more, 4 cm nearer by 65°."""
BEYOND_M = 0.03
"""How far beyond the middle of the zone a short arm puts the bottle, where its hand leans out farther."""
RETREAT_M, SHORT_RETREAT_M = 0.08, 0.05
TILT_RAD = 0.85
"""How far the hand leans towards the robot when it grips; it leans away by the rest of a quarter turn at the end."""
LYING = (float(np.cos(np.pi / 4)), float(np.sin(np.pi / 4)), 0.0, 0.0)
"""The z axis of the bottle points along -y."""


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M, quat=LYING)
    layout.zone("goal", GOAL_XY_M)
    return layout.done()


def start_far(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M, quat=LYING)
    layout.zone("goal", FAR_GOAL_XY_M, front_m=FRONT_M)
    return layout.done()


def _program(
    retreat_m: float, *, place_m: float, tolerance_m: float, rocks_s: float, beyond_m: float = 0.0
) -> tuple[Phase, ...]:
    return (
        *grasp("object", offset_m=(0.0, 0.0, 0.042), along=(0.0, 0.0, 1.0), tilt_rad=-TILT_RAD),
        *lift("object", by_m=0.18),
        *upend("object", to="goal", place_m=place_m, tolerance_m=tolerance_m, beyond_m=beyond_m),
        *retreat("object", by_m=retreat_m, upwards=False, shortest_s=rocks_s),
    )


@cache
def fitted(robot: Robot) -> Task:
    """The task for an arm with a short reach, whose hand points outwards only far from its base."""
    if not robot.is_short:
        return PLACE_UPRIGHT
    program = _program(SHORT_RETREAT_M, place_m=0.0, tolerance_m=0.004, rocks_s=0.8, beyond_m=BEYOND_M)
    return replace(PLACE_UPRIGHT, start=start_far, program=program, fitted=None)


PLACE_UPRIGHT = Task(
    name="place_upright",
    entities=(Thing("object", OBJECTS["bottle"]), zone("goal", radius_m=RADIUS_M)),
    start=start,
    program=_program(RETREAT_M, place_m=0.003, tolerance_m=0.006, rocks_s=0.2),
    success=(
        upright("object"),
        at("object", "goal", within_m=RADIUS_M),
        at_rest("object"),
        let_go("object"),
    ),
    language=Language((
        "stand the {object} up in the target zone",
        "place the {object} upright on the green circle",
        "put the {object} on its feet in the target zone",
        "the {object} has fallen over: stand it up on the target",
        "turn the {object} upright and put it in the target zone",
        "pick up the lying {object} and stand it on the green disc",
        "set the {object} upright on the target",
        "stand the {object} on the green circle",
        "move the {object} to the target zone and make it stand",
        "right the {object} and place it in the target area",
        "put the {object} down upright in the target zone",
        "make the {object} stand on the green disc",
    )),
    goal="goal",
    fitted=fitted,
)  # fmt: skip
