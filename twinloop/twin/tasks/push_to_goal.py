"""Push a puck over the table into the target zone."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.failure import FELL_OFF_TABLE, NEVER_REACHED
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest
from twinloop.twin.scene import Start
from twinloop.twin.skills import push
from twinloop.twin.task import Task

OBJECT_XY_M, GOAL_XY_M = (0.46, -0.1), (0.54, 0.1)
RADIUS_M = 0.05
BEHIND_M = 0.08
"""Distance from the puck to the fingers that come down behind it."""
IN_ZONE = at("object", "goal", within_m=RADIUS_M)


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M)
    layout.zone("goal", GOAL_XY_M)
    # The expert pushes straight on, so nothing may stand on the way.
    layout.way("object", "goal", behind_m=BEHIND_M)
    return layout.done()


PUSH_TO_GOAL = Task(
    name="push_to_goal",
    entities=(Thing("object", OBJECTS["puck"]), zone("goal", radius_m=RADIUS_M)),
    start=start,
    program=push("object", to="goal", done=at("object", "goal", within_m=0.025)),
    success=(IN_ZONE, at_rest("object")),
    language=Language((
        "push the {object} into the target zone",
        "slide the {object} to the green circle",
        "shove the {object} over to the target",
        "move the {object} to the target zone without lifting it",
        "push the {object} onto the green disc",
        "slide the {object} across the table to the target",
        "nudge the {object} into the green circle",
        "push the {object} to the goal",
        "get the {object} into the target zone by pushing",
        "slide the {object} into the target area",
        "push the {object} until it is on the green circle",
        "shift the {object} along the table to the target zone",
    )),
    goal="goal",
    failures=(FELL_OFF_TABLE, NEVER_REACHED),
)  # fmt: skip
