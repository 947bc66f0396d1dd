"""Take the tea tin out of the drawer, put it on the shelf, close the drawer and switch the kettle on."""

from collections.abc import Mapping

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import button, drawer, shelf
from twinloop.twin.language import Language
from twinloop.twin.objects import SceneObject
from twinloop.twin.placing import SHIFT_ROWS, Layout
from twinloop.twin.relations import inside, let_go, opened
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place, press, reach
from twinloop.twin.task import Task
from twinloop.twin.tasks.open_drawer import open_it
from twinloop.twin.tasks.press_button import DOWN_M
from twinloop.twin.tasks.put_in_drawer import CLOSED_M, close_it
from twinloop.twin.tasks.put_on_shelf import ON_BOARD_M

DRAWER_XY_M, SHELF_XY_M, BUTTON_XY_M = (0.64, 0.14), (0.58, -0.22), (0.36, -0.14)
IN_DRAWER_M, FLOOR_M = -0.045, 0.012
"""Where the tin is: from the middle of the drawer towards its front, and the height of the drawer's floor."""
TIN = SceneObject("tin", "cylinder", (0.023, 0.023, 0.03), 0.0, mass_kg=0.12, rgba=(0.18, 0.5, 0.3, 1.0))


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("drawer", DRAWER_XY_M)
    layout.fixture("shelf", SHELF_XY_M)
    layout.fixture("red_button", BUTTON_XY_M)
    # The drawn place of the tin is one in the drawer, where there is less room than on the table.
    noise = np.column_stack([layout.column("tin", f"object_position_noise_cm.{axis}") / 200 for axis in "xy"])
    layout.on("tin", "drawer", noise + np.array([IN_DRAWER_M, 0.0]), layout.yaw_rad("tin"), up_m=FLOOR_M)
    return layout.done()


TO_SHELF = "put the {tin} on the {shelf}"
PREPARE_TEA = Task(
    name="prepare_tea",
    entities=(Thing("tin", TIN), drawer("drawer"), shelf("shelf"), button("red_button")),
    start=start,
    program=(
        *open_it(),
        *reach("drawer.inside", height_m=0.15, facing=True, words="grasp the {tin}"),
        *grasp("tin"),
        *lift("tin", by_m=0.22),
        *carry("tin", to="shelf.board", height_m=0.08, words=TO_SHELF),
        *place("tin", on="shelf.board", height_m=0.003, words=TO_SHELF),
        *close_it(),
        *press("red_button.cap", depth_m=0.025, done=opened("red_button", DOWN_M)),
    ),
    success=(
        inside("tin", "shelf.board", ON_BOARD_M),
        opened("drawer", CLOSED_M, less=True),
        opened("red_button", DOWN_M),
        let_go("tin"),
    ),
    language=Language((
        "prepare tea: take the {tin} out of the {drawer}, put it on the {shelf}, close the {drawer} and press the "
        "{red_button}",
        "get the {tin} from the {drawer}, stand it on the {shelf}, close the {drawer} and switch the kettle on",
        "prepare tea",
        "make everything ready for tea",
        "open the {drawer}, take out the {tin}, put it on the {shelf}, close the {drawer}, press the {red_button}",
        "put the {tin} from the {drawer} on the {shelf}, then close the {drawer} and press the {red_button}",
        "fetch the {tin} and start the kettle, and do not leave the {drawer} open",
        "move the {tin} from the {drawer} to the {shelf} and switch the kettle on with the {red_button}",
        "take the {tin} to the {shelf}, shut the {drawer}, and then press the {red_button}",
        "first the {tin} onto the {shelf}, then the {drawer} shut, then the {red_button}",
        "it is tea time: the {tin} is in the {drawer}, the {red_button} starts the kettle",
        "unpack the {tin}, tidy up the {drawer} and push the {red_button}",
    )),
    longest_s=60.0,
    unvaried=SHIFT_ROWS,
)  # fmt: skip
