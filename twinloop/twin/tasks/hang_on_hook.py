"""Hang a tag by its eye on a hook."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import hook, low_hook
from twinloop.twin.language import Language
from twinloop.twin.objects import OBJECTS
from twinloop.twin.phase import Phase
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at_rest, inside, let_go
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, hang, lift
from twinloop.twin.task import Task

OBJECT_XY_M, HOOK_XY_M = (0.42, -0.12), (0.62, 0.12)
GRIP_M, DROP_M = 0.04, 0.018
LIFT_M, LOW_LIFT_M = 0.2, 0.1
HUNG_M = (0.045, 0.02, 0.03)


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("hook", HOOK_XY_M)
    layout.thing("object", OBJECT_XY_M)
    return layout.done()


def _program(lift_m: float, stalls_s: float = 0.0) -> tuple[Phase, ...]:
    return (
        *grasp("object", raise_m=GRIP_M),
        *lift("object", by_m=lift_m),
        *hang("object", "object.eye", "hook.rod", "hook.tip", drop_m=DROP_M, stalls_s=stalls_s),
    )


@cache
def fitted(robot: Robot) -> Task:
    """The task with a low hook, for an arm with a short reach."""
    if not robot.is_short:
        return HANG_ON_HOOK
    tag, _ = HANG_ON_HOOK.entities
    return replace(
        HANG_ON_HOOK, entities=(tag, low_hook("hook")), program=_program(LOW_LIFT_M, stalls_s=3.0), fitted=None
    )


HANG_ON_HOOK = Task(
    name="hang_on_hook",
    entities=(Thing("object", OBJECTS["tag"]), hook("hook")),
    start=start,
    program=_program(LIFT_M),
    success=(inside("object", "hook.rod", HUNG_M), at_rest("object"), let_go("object")),
    language=Language((
        "hang the {object} on the {hook}",
        "put the {object} on the {hook}",
        "hang up the {object}",
        "the {object} belongs on the {hook}",
        "take the {object} and hang it on the {hook}",
        "hook the {object} up",
        "place the {object} over the {hook}",
        "hang the {object} up on the {hook} by its eye",
        "thread the {object} onto the {hook}",
        "pick up the {object} and hang it up",
        "let the {object} hang from the {hook}",
        "slide the {object} onto the {hook}",
    )),
    goal="hook",
    fitted=fitted,
)  # fmt: skip
