"""Pick the object up and put it down in the target zone."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Task

OBJECT_XY_M = (0.46, -0.13)
TARGET_XY_M = (0.52, 0.17)
TARGET_RADIUS_M = 0.05


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M)
    layout.zone("goal", TARGET_XY_M)
    return layout.done()


PICK_AND_PLACE = Task(
    name="pick_and_place",
    entities=(Thing("object", OBJECTS["cube"]), zone("goal", radius_m=TARGET_RADIUS_M)),
    start=start,
    program=(
        *grasp("object"),
        *lift("object"),
        *carry("object", to="goal"),
        *place("object", on="goal"),
    ),
    success=(at("object", "goal", within_m=TARGET_RADIUS_M), at_rest("object"), let_go("object")),
    language=Language((
        "pick up the {object} and place it in the target zone",
        "put the {object} in the target zone",
        "move the {object} to the green circle",
        "take the {object} and set it down in the target zone",
        "grab the {object} and drop it off at the target",
        "bring the {object} to the target zone",
        "place the {object} on the green disc",
        "the {object} belongs in the target zone",
        "lift the {object} and put it down on the green circle",
        "relocate the {object} to the target area",
        "pick the {object} and place it on the target",
        "carry the {object} over to the target zone",
    )),
    goal="goal",
)  # fmt: skip
