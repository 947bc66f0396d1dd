"""Put the cube that the instruction names into the bin that it names. Another cube and another bin are in the way."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import box_bin
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at_rest, inside, let_go
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.task import Role, Task

CUBES_XY_M = {"red_cube": (0.46, -0.07), "blue_cube": (0.46, 0.07)}
BINS_XY_M = {"red_bin": (0.56, -0.24), "blue_bin": (0.56, 0.24)}
INSIDE_M = (0.07, 0.07, 0.05)
INTO = "put the {asked} into the {asked_bin}"


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    for name, place_m in BINS_XY_M.items():
        layout.fixture(name, place_m)
    for name, place_m in CUBES_XY_M.items():
        layout.thing(name, place_m)
    return layout.done()


SORT_BY_COLOUR = Task(
    name="sort_by_colour",
    entities=(
        *(Thing(name, OBJECTS["cube"], name.partition("_")[0]) for name in CUBES_XY_M),
        *(box_bin(name, colour=name.partition("_")[0]) for name in BINS_XY_M),
    ),
    start=start,
    program=(
        *grasp("asked"),
        *lift("asked"),
        *carry("asked", to="asked_bin.floor", words=INTO),
        *place("asked", on="asked_bin.floor", height_m=0.01, words=INTO, tolerance_m=0.01),
    ),
    success=(inside("asked", "asked_bin.floor", INSIDE_M), at_rest("asked"), let_go("asked")),
    language=Language((
        "put the {asked} into the {asked_bin}",
        "sort the {asked} into the {asked_bin}",
        "the {asked} goes into the {asked_bin}",
        "place the {asked} in the {asked_bin}",
        "drop the {asked} into the {asked_bin}",
        "move the {asked} to the {asked_bin}",
        "find the {asked} and put it in the {asked_bin}",
        "put only the {asked} away, into the {asked_bin}",
        "take the {asked} and sort it into the {asked_bin}",
        "the {asked_bin} is for the {asked}",
        "bring the {asked} to the {asked_bin}",
        "pick the {asked}, not the other one, and put it into the {asked_bin}",
    )),
    roles=(
        Role("asked", ("red_cube", "blue_cube", "red_cube", "blue_cube")),
        Role("asked_bin", ("red_bin", "blue_bin", "blue_bin", "red_bin")),
    ),
)  # fmt: skip
