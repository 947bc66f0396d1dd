"""Take the product that is asked for, or any, out of a bin of mixed products and put it into the target zone.

The products are drawn from the pool of `twin/products/pool.py`. Each slot of the bin has a part of the pool, so that no
two products in a bin are of one family and a name is never ambiguous.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from twinloop.twin.entity import Draw, Entity, Thing, zone
from twinloop.twin.fixtures import box_bin
from twinloop.twin.language import Language
from twinloop.twin.objects import SceneObject
from twinloop.twin.packing import packed
from twinloop.twin.phase import FingerRoom, Phase
from twinloop.twin.placing import SHIFT_ROWS, Layout
from twinloop.twin.products.families import FAMILIES
from twinloop.twin.products.pool import POOL, product
from twinloop.twin.relations import at_rest, either_inside, let_go
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Start
from twinloop.twin.skills import carry, grasp, lift, place
from twinloop.twin.skills.grasp import stay
from twinloop.twin.task import Role, Task
from twinloop.twin.unvaried import HEAVY_INSERT, MANY_CONTACTS

SLOTS = tuple(f"product_{number}" for number in range(8))
BIN_XY_M, ZONE_XY_M = (0.47, -0.12), (0.5, 0.27)
HALF_M, WALL_M = (0.125, 0.185), 0.04
GAP_M = 0.012
FINGERS_M = 0.032
"""Room that is left for the fingers beside the product that is taken, on both sides that they close on."""
OPEN_M = 0.064
"""The same for a narrow product, from its middle: where the outer sides of open fingers are."""
PRESS_N = 30.0
"""A finger that meets another product on the way down presses on it with this force at most."""
OUT_M = 0.16
WIDEST_M = 0.07
"""The widest products, where they are gripped."""
SMALL_HALF_M, SMALL_WALL_M, SMALL_OUT_M = (0.08, 0.12), 0.02, 0.1
SMALL_ZONE_XY_M = (0.5, 0.19)
"""Farther aside, a zone is beside the base of a short arm, whose hand gets there slowly."""
"""The bin of a small hand. Its fingers need as much room as those of a large one."""
NAMED, ANY = 3, 1
"""How often the instruction names a product, and how often it asks for any."""


def _pools() -> list[tuple[SceneObject, ...]]:
    """The products of each slot: families with about equally many parts, which keeps the number of geoms small."""
    families = sorted(range(len(FAMILIES)), key=lambda place: len(product(place).parts))
    parts = np.array_split(np.array(families), len(SLOTS))
    return [
        tuple(
            product(variant * len(FAMILIES) + int(place)) for place in group for variant in range(POOL // len(FAMILIES))
        )
        for group in parts
    ]


def _product_things() -> tuple[Thing, ...]:
    things = []
    for name, pool in zip(SLOTS, _pools(), strict=True):
        first = pool[0]
        kind = SceneObject("product", "box", first.half_extents_m, np.pi, first.mass_kg, first.rgba, pool=pool)
        things.append(Thing(name, kind))
    return tuple(things)


ASKED = SLOTS * (NAMED + ANY)
WORDS = ("",) * (NAMED * len(SLOTS)) + ("product of your choice",) * (ANY * len(SLOTS))
ROLES = (
    Role("asked", ASKED, WORDS),
    # An instruction that names a product is fulfilled by this one only; one that asks for any, by every product.
    *(Role(f"accepted_{number}", SLOTS * NAMED + (name,) * len(SLOTS)) for number, name in enumerate(SLOTS)),
)


def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    return _start(draw, count, entities, HALF_M, ZONE_XY_M)


def start_small(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
    return _start(draw, count, entities, SMALL_HALF_M, SMALL_ZONE_XY_M)


def _start(
    draw: Draw,
    count: int,
    entities: Mapping[str, Entity],
    inside_m: tuple[float, float],
    zone_m: tuple[float, float],
) -> Start:
    layout = Layout(draw, count, entities)
    layout.fixture("bin", BIN_XY_M)
    layout.zone("zone", zone_m)
    asked = np.minimum((draw["task_choice"] * len(ASKED)).astype(int), len(ASKED) - 1) % len(SLOTS)
    halves, shifts, orders = [], [], []
    for number, name in enumerate(SLOTS):
        half = layout.extents_m(name)[:, :2].copy()
        taken = asked == number
        half[taken, 1] = np.maximum(half[taken, 1] + FINGERS_M, OPEN_M)
        mix = layout.column(name, "product_mix")
        noise = [layout.column(name, f"object_position_noise_cm.{axis}") / 10 for axis in "xy"]
        turn = layout.column(name, "object_yaw_deg") / 360
        # The mix of products makes arrangements differ even if nothing else varies.
        shifts.append(np.stack([noise[0] + 7.31 * mix, noise[1] + 5.17 * mix, turn + 3.73 * mix], axis=1) % 1)
        halves.append(half)
        # Large products first, because there is less room for them; the one that is taken before all.
        orders.append(np.where(taken, -1.0, -half.prod(axis=1)))
    places, yaws = packed(halves, shifts, np.stack(orders, axis=1), inside_m=inside_m, gap_m=GAP_M)
    for number, name in enumerate(SLOTS):
        layout.on(name, "bin", places[:, number], yaws[:, number], up_m=0.005)
    return layout.done()


def _entities(things: tuple[Thing, ...], half_m: tuple[float, float], wall_m: float) -> tuple[Entity, ...]:
    x, y = half_m
    tray = box_bin("bin", half_m=(x + 0.004, y + 0.004), height_m=wall_m)
    return (*things, tray, zone("zone", half_extents_m=(0.09, 0.09)))


def _program(half_m: tuple[float, float], wall_m: float, out_m: float) -> tuple[Phase, ...]:
    return (
        *grasp("asked", room=FingerRoom(SLOTS, "bin.floor", half_m, wall_m), approach_m=0.1, press_n=PRESS_N),
        *lift("asked", by_m=out_m),
        *carry("asked", to="zone", height_m=0.08),
        *place("asked", on="zone", tolerance_m=0.012),
        # A round product may roll a little.
        Phase("wait", stay, "let go", thing="asked", until=at_rest("asked").holds, relative=True, longest_s=3.0),
    )


@cache
def fitted(robot: Robot) -> Task:
    """The task with a small bin of small products, for a small hand."""
    if robot.widest_grip_m is None or robot.widest_grip_m >= WIDEST_M:
        return BIN_PICKING
    scale = robot.widest_grip_m / WIDEST_M
    things = tuple(replace(thing, object=thing.object.scaled(scale)) for thing in BIN_PICKING.things)
    return replace(
        BIN_PICKING,
        entities=_entities(things, SMALL_HALF_M, SMALL_WALL_M),
        start=start_small,
        program=_program(SMALL_HALF_M, SMALL_WALL_M, SMALL_OUT_M),
        fitted=None,
    )


BIN_PICKING = Task(
    name="bin_picking",
    entities=_entities(_product_things(), HALF_M, WALL_M),
    start=start,
    program=_program(HALF_M, WALL_M, OUT_M),
    success=(
        either_inside(tuple(f"accepted_{number}" for number in range(len(SLOTS))), "zone", (0.09, 0.09, 0.15)),
        at_rest("asked"),
        let_go("product"),
    ),
    language=Language((
        "take the {asked} out of the {bin} and put it on {zone}",
        "pick the {asked} from the {bin} and place it on {zone}",
        "get the {asked} out of the {bin}",
        "move the {asked} from the {bin} to {zone}",
        "find the {asked} in the {bin} and bring it to {zone}",
        "the {asked} goes from the {bin} to {zone}",
        "hand me the {asked}: put it on {zone}",
        "lift the {asked} out of the {bin} and set it down on {zone}",
        "pick the {asked} and leave all other products in the {bin}",
        "from the {bin}, take the {asked} and place it in {zone}",
        "bring the {asked} from the {bin} to {zone}",
        "search the {bin} for the {asked} and put it on {zone}",
    )),
    roles=ROLES,
    # Products have sizes of their own, and the widest just fit between the fingers.
    unvaried=(*SHIFT_ROWS, "object_size_scale", *HEAVY_INSERT, *MANY_CONTACTS),
    fitted=fitted,
)  # fmt: skip
