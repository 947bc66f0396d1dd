"""Lift a tray by its two handles with two arms, and keep it level."""

from collections.abc import Mapping

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.failure import DROPPED_IN_LIFT, FELL_OFF_TABLE, NEVER_GRASPED, NEVER_REACHED
from twinloop.twin.language import Language
from twinloop.twin.objects import HALF, Frame, Part, SceneObject
from twinloop.twin.phase import in_steps
from twinloop.twin.placing import Layout
from twinloop.twin.relations import by_arm, held, lifted, upright
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, hold, lift_together
from twinloop.twin.task import Task
from twinloop.twin.unvaried import MANY_CONTACTS

TRAY_XY_M = (0.5, 0.0)
HANDLES = {"left": "tray.left_handle", "right": "tray.right_handle"}
DOWN = (0.0, 0.5**0.5, 0.5**0.5, 0.0)
"""A hand on a handle comes from above and closes across it."""
TRAY = SceneObject(
    "tray", "box", (0.08, 0.17, 0.015), HALF, mass_kg=0.2, rgba=(0.62, 0.64, 0.68, 1.0),
    parts=(
        Part("box", (0.08, 0.11, 0.005), (0.0, 0.0, -0.01)),
        *(Part("box", (0.011, 0.035, 0.01), (0.0, side * 0.135, 0.005)) for side in (1, -1)),
    ),
    frames=(Frame("left_handle", (0.0, 0.14, 0.005), DOWN), Frame("right_handle", (0.0, -0.14, 0.005), DOWN)),
)  # fmt: skip
RISE_M, LIFTED_M, LEVEL_RAD = 0.1, 0.07, 0.1


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("tray", TRAY_XY_M)
    return layout.done()


LIFT_TRAY = Task(
    name="lift_tray",
    entities=(Thing("tray", TRAY),),
    start=start,
    program=in_steps(
        {arm: grasp(handle, approach="frame", words="grasp the {tray} by its handles")
         for arm, handle in HANDLES.items()},
        {arm: (*lift_together("tray", handle, by_m=RISE_M), *hold("tray", carried=handle, at_least_s=0.6))
         for arm, handle in HANDLES.items()},
    ),
    success=(
        lifted("tray", LIFTED_M),
        upright("tray", within_rad=LEVEL_RAD),
        *(by_arm(arm, held(handle)) for arm, handle in HANDLES.items()),
    ),
    language=Language((
        "lift the {tray} with both arms and keep it level",
        "pick up the {tray} by its two handles",
        "raise the {tray} with both hands",
        "take the {tray} by the handles and lift it without tilting it",
        "use both arms to lift the {tray}",
        "grab both handles of the {tray} and lift it up",
        "lift up the {tray}, one hand on each side",
        "hold the {tray} level above the table with both hands",
        "pick the {tray} up from the table with two arms",
        "raise the {tray} evenly on both sides",
        "get the {tray} off the table and keep it horizontal",
        "both arms: lift the {tray} together",
    )),
    failures=(FELL_OFF_TABLE, NEVER_REACHED, NEVER_GRASPED, DROPPED_IN_LIFT),
    unvaried=MANY_CONTACTS,
)  # fmt: skip
