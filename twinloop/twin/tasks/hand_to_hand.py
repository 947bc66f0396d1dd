"""Pick a bar up with one arm, pass it to the other arm, and put it down on the other side of the table."""

from collections.abc import Mapping

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.failure import COMMON
from twinloop.twin.language import Language
from twinloop.twin.objects import SceneObject
from twinloop.twin.phase import in_steps
from twinloop.twin.placing import Layout
from twinloop.twin.relations import at, at_rest, let_go
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, hold, lift, pass_on, place
from twinloop.twin.task import Task
from twinloop.twin.unvaried import MANY_CONTACTS

OBJECT_XY_M, MEETING_XY_M, TARGET_XY_M = (0.5, 0.15), (0.5, 0.0), (0.5, -0.16)
MEETING_HEIGHT_M = 0.12
TARGET_RADIUS_M = 0.06
BAR = SceneObject("bar", "box", (0.11, 0.011, 0.014), np.pi, mass_kg=0.12, rgba=(0.55, 0.35, 0.2, 1.0))
GIVER_M, TAKER_M = (0.06, 0.0, 0.0), (-0.095, 0.0, 0.0)
"""Where each hand grips the bar, along its axes."""


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.thing("object", OBJECT_XY_M, yaw_rad=np.pi / 2)
    layout.zone("goal", TARGET_XY_M, clear_m=max(BAR.half_extents_m))
    return layout.done()


HAND_TO_HAND = Task(
    name="hand_to_hand",
    entities=(Thing("object", BAR), zone("goal", radius_m=TARGET_RADIUS_M)),
    start=start,
    program=in_steps(
        {"left": (*grasp("object", offset_m=GIVER_M), *lift("object")), "right": hold()},
        *pass_on("object", giver="left", taker="right", at_m=MEETING_XY_M, height_m=MEETING_HEIGHT_M,
                 offset_m=TAKER_M),
        {"left": hold(), "right": (*carry("object", to="goal", height_m=0.06), *place("object", on="goal"))},
    ),
    success=(at("object", "goal", within_m=TARGET_RADIUS_M), at_rest("object"), let_go("object")),
    language=Language((
        "pass the {object} from the left hand to the right hand and put it in the target zone",
        "hand the {object} over to the right arm, which places it in the target zone",
        "take the {object} with the left arm, pass it on and set it down with the right arm",
        "move the {object} to the green circle by passing it from hand to hand",
        "give the {object} from the left hand to the right one and put it down",
        "pick up the {object} on the left, pass it across and place it on the right",
        "bring the {object} to the other side, from hand to hand",
        "let the right arm take the {object} from the left arm and put it in the target zone",
        "pass the {object} across and place it on the target",
        "transfer the {object} from one hand to the other and set it down in the zone",
        "swap hands with the {object} and put it on the green disc",
        "use both arms to get the {object} into the target zone",
    )),
    longest_s=24.0,
    goal="goal",
    failures=COMMON,
    unvaried=MANY_CONTACTS,
    least_axes=6,
)  # fmt: skip
