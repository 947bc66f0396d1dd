"""Pour grains from a cup into a bowl."""

from collections.abc import Mapping

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing
from twinloop.twin.fixtures import bowl
from twinloop.twin.fixtures.bowl import HALF_M as BOWL_M
from twinloop.twin.fixtures.bowl import HIGH_M as BOWL_HEIGHT_M
from twinloop.twin.language import Language
from twinloop.twin.objects import Part, SceneObject
from twinloop.twin.placing import SHIFT_ROWS, Layout
from twinloop.twin.relations import share_inside, upright
from twinloop.twin.rotation import rotated
from twinloop.twin.scene import Start
from twinloop.twin.skills import grasp, lift, pour
from twinloop.twin.soft import axes_of
from twinloop.twin.task import Task
from twinloop.twin.unvaried import MANY_CONTACTS, SMALL_GRAINS

CUP_XY_M, BOWL_XY_M = (0.42, -0.14), (0.46, 0.1)
RADIUS_M, HALF_HEIGHT_M, WALL_M, SIDES = 0.031, 0.05, 0.003, 16
GRAIN_M, GRAINS = 0.007, 10
SHARE = 0.8


def _side(number: int) -> Part:
    """One of the flat walls of the cup."""
    angle = 2 * np.pi * number / SIDES
    half, radius = RADIUS_M * np.tan(np.pi / SIDES), RADIUS_M - WALL_M
    place = (float(radius * np.cos(angle)), float(radius * np.sin(angle)), 0.0)
    turn = (float(np.cos(angle / 2)), 0.0, 0.0, float(np.sin(angle / 2)))
    return Part("box", (WALL_M, float(half), HALF_HEIGHT_M), place, turn)


CUP = SceneObject(
    "cup", "cylinder", (RADIUS_M, RADIUS_M, HALF_HEIGHT_M), 0.0, mass_kg=0.12, rgba=(0.2, 0.45, 0.75, 1.0),
    parts=(*map(_side, range(SIDES)), Part("cylinder", (RADIUS_M, 0.002, 0.0), (0.0, 0.0, 0.002 - HALF_HEIGHT_M))),
)  # fmt: skip
GRAIN = SceneObject("grain", "sphere", (GRAIN_M, GRAIN_M, GRAIN_M), 0.0, mass_kg=0.003, rgba=(0.9, 0.8, 0.5, 1.0))
NAMES = tuple(f"grain{number}" for number in range(GRAINS))
IN_BOWL = (BOWL_M, BOWL_M, BOWL_HEIGHT_M)


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("bowl", BOWL_XY_M)
    layout.thing("cup", CUP_XY_M)
    cup = layout.at("cup")
    for number, name in enumerate(NAMES):
        # Layers of five, each turned against the one below.
        layer, place = divmod(number, 5)
        angle = 2 * np.pi * (place + layer / 2) / 5
        up = 0.006 + GRAIN_M + layer * 2 * GRAIN_M - HALF_HEIGHT_M
        poses = cup.copy()
        poses[:, :3] += rotated(axes_of(cup[:, 3:]), np.array([0.014 * np.cos(angle), 0.014 * np.sin(angle), up]))
        layout.pose(name, poses)
    return layout.done()


POUR = Task(
    name="pour",
    entities=(
        Thing("cup", CUP),
        *(Thing(name, GRAIN, grain=True) for name in NAMES),
        bowl("bowl"),
    ),
    start=start,
    program=(
        *grasp("cup", raise_m=0.03),
        *lift("cup", by_m=0.17, speed_m_s=0.3),
        *pour("cup", "bowl.floor", done=share_inside(NAMES, "bowl.floor", IN_BOWL, 0.9)),
    ),
    success=(share_inside(NAMES, "bowl.floor", IN_BOWL, SHARE), upright("cup")),
    language=Language((
        "pour the {cup} into the {bowl}",
        "pour the grains into the {bowl}",
        "empty the {cup} into the {bowl}",
        "tip the {cup} over the {bowl}",
        "pour what is in the {cup} into the {bowl}",
        "fill the {bowl} from the {cup}",
        "tilt the {cup} over the {bowl} until it is empty",
        "put the grains from the {cup} in the {bowl}",
        "take the {cup} and pour it out into the {bowl}",
        "transfer the grains to the {bowl}",
        "pour everything into the {bowl}",
        "get the grains out of the {cup} and into the {bowl}",
    )),
    longest_s=30.0,
    unvaried=(*SHIFT_ROWS, "object_size_scale", *SMALL_GRAINS, *MANY_CONTACTS),
)  # fmt: skip
