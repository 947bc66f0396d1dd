"""Put three things into a bin, then turn the knob."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import box_bin, knob
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import inside, let_go, turned
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place, retreat, turn
from twinloop.twin.task import Task

PLACES_XY_M = {"red_cube": (0.42, -0.18), "green_can": (0.52, -0.12), "blue_block": (0.42, -0.06)}
IN_BIN_M = {"red_cube": (-0.045, -0.04, 0.0), "green_can": (0.045, -0.03, 0.0), "blue_block": (0.0, 0.045, 0.0)}
"""Where in the bin each goes."""
BIN_XY_M, KNOB_XY_M = (0.56, 0.18), (0.64, -0.14)
BIN_M = 0.095
KNOB_APART_XY_M = (0.6, 0.02)
TURN_RAD = 1.2


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    return _start(draw, count, entities, KNOB_XY_M)


def start_apart(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    """The knob stands between the things and the bin, where a jaw that opens does not meet it."""
    return _start(draw, count, entities, KNOB_APART_XY_M)


def _start(draw: Draw, count: int, entities: Mapping[str, Entity], knob_m: tuple[float, float]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("bin", BIN_XY_M)
    layout.fixture("knob", knob_m)
    for name, place_m in PLACES_XY_M.items():
        layout.thing(name, place_m)
    return layout.done()


def _put_in(thing: str):
    words, offset = f"put the {{{thing}}} into the {{bin}}", IN_BIN_M[thing]
    return (
        *grasp(thing),
        *lift(thing, by_m=0.14),
        *carry(thing, to="bin.floor", height_m=0.08, offset_m=offset, words=words),
        *place(thing, on="bin.floor", height_m=0.02, offset_m=offset, words=words, tolerance_m=0.012, retreat_m=0.13),
    )


@cache
def fitted(robot: Robot) -> Task:
    """The task with the knob elsewhere, for a short arm, in whose area the things stand close together."""
    return replace(CLEAR_TABLE, start=start_apart, fitted=None) if robot.is_short else CLEAR_TABLE


CLEAR_TABLE = Task(
    name="clear_table",
    entities=(
        *(Thing(name, OBJECTS[name.partition("_")[2]], name.partition("_")[0]) for name in PLACES_XY_M),
        box_bin("bin", half_m=(BIN_M, BIN_M)),
        knob("knob"),
    ),
    start=start,
    program=(
        *(phase for name in PLACES_XY_M for phase in _put_in(name)),
        *grasp("knob.bar", approach="frame", turn_rad=TURN_RAD),
        *turn("knob", to_rad=TURN_RAD + 0.2, done=turned("knob", TURN_RAD + 0.05)),
        *retreat(words="let go of the {knob}"),
    ),
    success=(
        *(inside(name, "bin.floor", (BIN_M, BIN_M, 0.08)) for name in PLACES_XY_M),
        turned("knob", TURN_RAD),
        let_go("knob"),
    ),
    language=Language((
        "put everything into the {bin} and turn the {knob}",
        "clear the table into the {bin}, then turn the {knob}",
        "put the {red_cube}, the {green_can} and the {blue_block} into the {bin} and turn the {knob}",
        "tidy up: all things into the {bin}, then the {knob}",
        "clear the table and turn the {knob}",
        "throw all three things into the {bin}, then turn the {knob}",
        "first clear the table, then turn the {knob}",
        "the three things go into the {bin}; turn the {knob} when you are done",
        "pack the things into the {bin} and turn the {knob} to the left",
        "empty the table into the {bin} and finish by turning the {knob}",
        "collect the {red_cube}, {green_can} and {blue_block} in the {bin}, then turn the {knob}",
        "get everything off the table into the {bin} and then use the {knob}",
    )),
    longest_s=60.0,
    fitted=fitted,
)  # fmt: skip
