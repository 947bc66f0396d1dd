"""Turn a knob by three quarters of a turn, which is more than the wrist can do at once."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.failure import NEVER_REACHED
from twinloop.twin.fixtures import knob
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.placing import Layout
from twinloop.twin.relations import let_go, turned
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, regrasp, retreat, turn
from twinloop.twin.task import Task

KNOB_XY_M, OBJECT_XY_M = (0.5, 0.0), (0.42, 0.24)
TURN_RAD = 4.5
HALFWAY_RAD = 2.2


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("knob", KNOB_XY_M)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


TURN_KNOB = Task(
    name="turn_knob",
    entities=(Thing("object", OBJECTS["cube"]), knob("knob")),
    start=start,
    program=(
        *grasp("knob.bar", approach="frame", turn_rad=HALFWAY_RAD),
        *turn("knob", to_rad=HALFWAY_RAD + 0.1, done=turned("knob", HALFWAY_RAD)),
        *regrasp("knob.bar"),
        *turn("knob", to_rad=TURN_RAD + 0.2, done=turned("knob", TURN_RAD + 0.05)),
        *retreat(words="let go of the {knob}"),
    ),
    success=(turned("knob", TURN_RAD), let_go("knob")),
    language=Language((
        "turn the {knob} by three quarters of a turn",
        "turn the {knob} anticlockwise",
        "rotate the {knob} to the left",
        "turn the {knob} until it stops being closed",
        "twist the {knob} open",
        "rotate the {knob} by 270 degrees",
        "please turn the {knob}",
        "turn the dial to the left",
        "give the {knob} three quarters of a turn",
        "grip the {knob} and turn it",
        "turn the {knob} all the way round to the left",
        "twist the {knob} anticlockwise, and take it again where your wrist ends",
    )),
    longest_s=30.0,
    failures=(NEVER_REACHED,),
)  # fmt: skip
