"""Open a drawer by its handle."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.failure import NEVER_REACHED
from twinloop.twin.fixtures import drawer
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import let_go, opened
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, pull, retreat
from twinloop.twin.task import Task

DRAWER_XY_M, OBJECT_XY_M = (0.64, 0.12), (0.42, -0.2)
OPEN_M = 0.1


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("drawer", DRAWER_XY_M)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


def open_it(words: str = "open the {drawer}"):
    """The phases that open the drawer."""
    return (
        *grasp("drawer.handle", approach="frame", words=words),
        *pull("drawer.handle", joint="slide", axis=(-1, 0, 0), to=OPEN_M + 0.02, words=words,
              done=opened("drawer", OPEN_M + 0.01)),
        *retreat("drawer.handle", words=words, by_m=0.08),
    )  # fmt: skip


OPEN_DRAWER = Task(
    name="open_drawer",
    entities=(Thing("object", OBJECTS["cube"]), drawer("drawer")),
    start=start,
    program=open_it(),
    success=(opened("drawer", OPEN_M), let_go("drawer")),
    language=Language((
        "open the {drawer}",
        "pull the {drawer} open",
        "pull out the {drawer}",
        "slide the {drawer} open by its handle",
        "open up the {drawer}",
        "grab the handle and open the {drawer}",
        "get the {drawer} open",
        "pull the handle of the {drawer}",
        "draw the {drawer} out",
        "please open the {drawer}",
        "make sure the {drawer} is open",
        "take the handle and pull the {drawer} towards you",
    )),
    failures=(NEVER_REACHED,),
)  # fmt: skip
