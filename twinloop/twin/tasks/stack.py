"""Stack three cubes on top of each other."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at_rest, let_go, on
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Task
from twinloop.twin.unvaried import MANY_CONTACTS

PLACES_XY_M = {"red_cube": (0.42, -0.16), "green_cube": (0.54, -0.1), "blue_cube": (0.48, 0.1)}


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    for name, place_m in PLACES_XY_M.items():
        layout.thing(name, place_m)
    return layout.done()


def _put(thing: str, onto: str):
    words = f"put the {{{thing}}} on the {{{onto}}}"
    return (
        *grasp(thing),
        *lift(thing),
        *carry(thing, to=onto, height_m=0.08, words=words),
        *place(thing, on=onto, words=words, height_m=0.003, tolerance_m=0.005),
    )


STACK = Task(
    name="stack",
    entities=tuple(Thing(name, OBJECTS["cube"], name.partition("_")[0]) for name in PLACES_XY_M),
    start=start,
    program=(*_put("green_cube", onto="blue_cube"), *_put("red_cube", onto="green_cube")),
    success=(
        on("green_cube", "blue_cube"),
        on("red_cube", "green_cube"),
        at_rest("red_cube"),
        at_rest("green_cube"),
        let_go("red_cube"),
    ),
    language=Language((
        "stack the three cubes: green on blue, red on top",
        "put the {green_cube} on the {blue_cube} and the {red_cube} on top of both",
        "build a tower with blue at the bottom, green in the middle and red on top",
        "make a stack of blue, green and red, from the bottom up",
        "stack all cubes with the {red_cube} on top",
        "pile up the cubes: blue, then green, then red",
        "build a tower of three cubes, red on top",
        "place green on blue, then red on green",
        "make a tower: the {blue_cube} below, the {green_cube} next, the {red_cube} last",
        "stack green onto blue and red onto green",
        "put the cubes on top of each other, blue first, then green, then red",
        "tower the cubes up in the order blue, green, red",
    )),
    longest_s=30.0,
    unvaried=MANY_CONTACTS,
)  # fmt: skip
