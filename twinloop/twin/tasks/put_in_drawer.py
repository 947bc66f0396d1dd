"""Open the drawer, put the object in, and close it."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import drawer
from twinloop.twin.fixtures.drawer import INSIDE_M
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import inside, let_go, opened
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place, shove
from twinloop.twin.task import Task
from twinloop.twin.tasks.open_drawer import DRAWER_XY_M, OBJECT_XY_M, open_it

CLOSED_M = 0.015
PRESS_N = 30.0
"""Fingers or thing that meet the front of the drawer on the way down press on it with this force at most."""


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("drawer", DRAWER_XY_M)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


def close_it(words: str = "close the {drawer}"):
    """The phases that push the drawer shut by its handle."""
    return shove("drawer.handle", along=(1.0, 0.0, 0.0), done=opened("drawer", CLOSED_M / 2, less=True), words=words)


INTO = "put the {object} into the {drawer}"
PUT_IN_DRAWER = Task(
    name="put_in_drawer",
    entities=(Thing("object", OBJECTS["cube"]), drawer("drawer")),
    start=start,
    program=(
        *open_it(),
        *grasp("object"),
        *lift("object"),
        *carry("object", to="drawer.inside", height_m=0.12, offset_m=(-0.04, 0.0, 0.0), words=INTO),
        *place("object", on="drawer.inside", height_m=0.02, offset_m=(-0.04, 0.0, 0.0), words=INTO, stalls_s=2.5,
               press_n=PRESS_N, tolerance_m=0.012, retreat_m=0.12),
        *close_it(),
    ),
    success=(
        inside("object", "drawer.inside", (INSIDE_M[0] + 0.03, INSIDE_M[1], 0.06)),
        opened("drawer", CLOSED_M, less=True),
        let_go("object"),
    ),
    language=Language((
        "put the {object} in the {drawer} and close it",
        "open the {drawer}, place the {object} inside and shut it",
        "store the {object} in the {drawer}",
        "stow the {object} away in the {drawer}",
        "put away the {object}",
        "the {object} goes into the {drawer}",
        "place the {object} inside the {drawer}, then close the {drawer}",
        "tidy the {object} into the {drawer}",
        "move the {object} into the {drawer} and push it shut",
        "open the {drawer}, drop the {object} in, close it again",
        "keep the {object} in the {drawer}",
        "shut the {object} away in the {drawer}",
    )),
    longest_s=40.0,
)  # fmt: skip
