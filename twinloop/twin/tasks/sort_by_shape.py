"""Put the object whose shape the instruction names into the target zone."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Role, Task

THINGS_XY_M = {"cube": (0.42, -0.2), "can": (0.56, -0.12), "block": (0.42, -0.02)}
GOAL_XY_M, RADIUS_M = (0.54, 0.17), 0.06


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    for name, place_m in THINGS_XY_M.items():
        layout.thing(name, place_m)
    layout.zone("goal", GOAL_XY_M)
    return layout.done()


SORT_BY_SHAPE = Task(
    name="sort_by_shape",
    # One colour for all: only the shape tells them apart.
    entities=(
        *(Thing(name, OBJECTS[name], "blue") for name in THINGS_XY_M),
        zone("goal", radius_m=RADIUS_M),
    ),
    start=start,
    program=(
        *grasp("asked"),
        *lift("asked"),
        *carry("asked", to="goal"),
        *place("asked", on="goal"),
    ),
    success=(at("asked", "goal", within_m=RADIUS_M), at_rest("asked"), let_go("asked")),
    language=Language((
        "put the {asked} in the target zone",
        "move the {asked} to the green circle",
        "place the {asked}, and nothing else, on the target",
        "find the {asked} and put it in the target zone",
        "pick up the {asked} and set it down on the green disc",
        "bring the {asked} to the target zone",
        "only the {asked} belongs in the green circle",
        "choose the {asked} and place it on the target",
        "which one is the {asked}? put it in the target zone",
        "take the {asked} to the target area",
        "sort out the {asked} and put it on the green disc",
        "carry the {asked} over to the green circle",
    )),
    roles=(Role("asked", tuple(THINGS_XY_M)),),
)  # fmt: skip
