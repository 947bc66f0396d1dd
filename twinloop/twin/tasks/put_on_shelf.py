"""Put the object on a shelf above the table."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import shelf
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at_rest, inside, let_go
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Task

OBJECT_XY_M, SHELF_XY_M = (0.42, -0.16), (0.58, 0.2)
ON_BOARD_M = (0.07, 0.11, 0.06)


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("shelf", SHELF_XY_M)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


PUT_ON_SHELF = Task(
    name="put_on_shelf",
    entities=(Thing("object", OBJECTS["can"]), shelf("shelf")),
    start=start,
    program=(
        *grasp("object"),
        *lift("object", by_m=0.26),
        *carry("object", to="shelf.board", height_m=0.08),
        *place("object", on="shelf.board", height_m=0.003),
    ),
    success=(inside("object", "shelf.board", ON_BOARD_M), at_rest("object"), let_go("object")),
    language=Language((
        "put the {object} on the {shelf}",
        "place the {object} onto the {shelf}",
        "set the {object} down on the {shelf}",
        "the {object} belongs on the {shelf}",
        "lift the {object} onto the {shelf}",
        "move the {object} up to the {shelf}",
        "store the {object} on the {shelf}",
        "take the {object} from the table and put it on the {shelf}",
        "shelve the {object}",
        "bring the {object} to the {shelf}",
        "put the {object} up there on the {shelf}",
        "stand the {object} on the {shelf}",
    )),
)  # fmt: skip
