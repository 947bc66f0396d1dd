"""Press the button that the instruction names."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.failure import NEVER_REACHED
from twinloop.twin.fixtures import button
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import opened
from twinloop.twin.scene import Start
from twinloop.twin.skills import press
from twinloop.twin.task import Role, Task

PLACES_XY_M = {"red_button": (0.5, -0.12), "green_button": (0.5, 0.06)}
DOWN_M = 0.008


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    for name, place_m in PLACES_XY_M.items():
        layout.fixture(name, place_m)
    layout.thing("object", (0.4, 0.22))
    return layout.done()


PRESS_BUTTON = Task(
    name="press_button",
    entities=(
        Thing("object", OBJECTS["cube"]),
        *(button(name, colour=name.partition("_")[0]) for name in PLACES_XY_M),
    ),
    start=start,
    program=press("asked.cap", depth_m=0.025, done=opened("asked", DOWN_M), words="press the {asked}"),
    success=(opened("asked", DOWN_M), opened("other", DOWN_M / 2, less=True)),
    language=Language((
        "press the {asked}",
        "push the {asked}",
        "hit the {asked}",
        "push down the {asked}",
        "press the {asked}, not the {other}",
        "please press the {asked}",
        "activate the {asked}",
        "push the {asked} until it stays down",
        "use the {asked}",
        "press down on the {asked}",
        "give the {asked} a push",
        "put your finger on the {asked} and press",
    )),
    roles=(Role("asked", tuple(PLACES_XY_M)), Role("other", tuple(reversed(PLACES_XY_M)))),
    failures=(NEVER_REACHED,),
)  # fmt: skip
