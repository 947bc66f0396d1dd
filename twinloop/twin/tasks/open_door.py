"""Open the door of a cabinet by its handle."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.failure import NEVER_REACHED
from twinloop.twin.fixtures import door
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import let_go, opened
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, pull, retreat
from twinloop.twin.task import Task

CABINET_XY_M, OBJECT_XY_M = (0.66, 0.04), (0.42, -0.24)
OPEN_RAD = 1.0


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("cabinet", CABINET_XY_M)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


OPEN_DOOR = Task(
    name="open_door",
    entities=(Thing("object", OBJECTS["cube"]), door("cabinet")),
    start=start,
    program=(
        *grasp("cabinet.handle", approach="frame", words="grasp the handle of the {cabinet}"),
        *pull("cabinet.handle", joint="hinge", axis=(0, 0, -1), hinge="cabinet.hinge", to=OPEN_RAD + 0.15,
              done=opened("cabinet", OPEN_RAD + 0.05), words="open the door of the {cabinet}"),
        *retreat(words="let go of the handle"),
    ),
    success=(opened("cabinet", OPEN_RAD), let_go("cabinet")),
    language=Language((
        "open the {cabinet}",
        "open the door of the {cabinet}",
        "pull the door of the {cabinet} open",
        "take the handle and open the {cabinet}",
        "swing the door of the {cabinet} open",
        "get the {cabinet} open",
        "please open the {cabinet} door",
        "pull the {cabinet} open by its handle",
        "grab the handle and swing the door open",
        "make sure the {cabinet} is open",
        "open up the {cabinet}",
        "pull the {cabinet} door towards you",
    )),
    failures=(NEVER_REACHED,),
)  # fmt: skip
