"""Start: where everything stands when an episode begins, from the values of a draw."""

from collections.abc import Mapping, Sequence

import numpy as np

from twinloop.randomize.table import TABLE
from twinloop.twin import clutter, distractors, item
from twinloop.twin.objects import SceneObject
from twinloop.twin.placing import is_clear, pushed_away
from twinloop.twin.scene import Start
from twinloop.twin.surroundings import Kind
from twinloop.twin.table import HIGHEST_XY_M, LOWEST_XY_M, PARKED_M, surface_m
from twinloop.twin.twin import Twin

HOOKS = tuple((row, row.on_start) for row in TABLE if row.on_start is not None)


def start_of(twin: Twin, draw: Mapping[str, np.ndarray], count: int) -> Start:
    """The start of `count` episodes: as the task lays it out, then changed by rows that act on it."""
    start = twin.task.start(draw, count, twin.task.by_name)
    for row, on_start in HOOKS:
        columns = [draw[column] for column in row.columns]
        if any((values != row.nominal).any() for values in columns):
            on_start(start, np.column_stack(columns) if row.elements else columns[0])
    return start


def standing(
    draw: Mapping[str, np.ndarray], begin: Start, thing: SceneObject, kinds: frozenset[Kind]
) -> dict[str, np.ndarray]:
    """Body -> (n, 3) its position in each episode, for bodies that do not move."""
    clutter_m = clutter_places(draw, begin)
    item_m = _item_places(draw, begin)
    out = {item.NAME: item_m} if "item" in kinds else {}
    if "distractors" in kinds:
        others = (*np.moveaxis(clutter_m, 1, 0), item_m)
        places = _distractor_places(draw, begin, thing, others)
        out |= {f"distractor/{name}": places[:, number] for number, name in enumerate(distractors.USUAL_XY_M)}
    return out


def clutter_places(draw: Mapping[str, np.ndarray], start: Start) -> np.ndarray:
    """(n, things, 3) position of each: its usual place plus the drawn offset, clear of the task's entities.

    A thing that an episode does not have, or that has no free place, is below the table.
    """
    count = len(draw["clutter_count"])
    out = np.empty((count, len(clutter.THINGS), 3))
    for number, (name, (_, half, usual, _)) in enumerate(clutter.THINGS.items()):
        place = np.array(usual) + np.column_stack([draw[f"clutter_place_cm.{name}_{axis}"] for axis in "xy"]) / 100
        for keep_clear in start.occupied_m:
            place = pushed_away(place, keep_clear, clutter.CLEARANCE_M)
        place, free = _beside(place, start, float(np.hypot(*half[:2])))
        stands = free & (number < np.round(draw["clutter_count"]))
        out[:, number, :2] = place
        out[:, number, 2] = np.where(stands, surface_m(draw, place) + half[2], clutter.PARKED_M)
    return out


def _item_places(draw: Mapping[str, np.ndarray], begin: Start) -> np.ndarray:
    """(n, 3) position of the item; below the floor in an episode without it."""
    place = item.USUAL_XY_M + np.column_stack([draw[f"unexpected_item_place_cm.{axis}"] for axis in "xy"]) / 100
    work = begin.occupied_m
    for point in work:
        place = pushed_away(place, point, item.FROM_WORK_M)
    place, free = _beside(place, begin, item.RADIUS_M)
    place = np.clip(place, LOWEST_XY_M, HIGHEST_XY_M)
    stands = free & (draw["unexpected_item_probability"] > 0.5)
    for point in work:
        stands &= is_clear(place, point, item.FROM_WORK_M)
    top = surface_m(draw, place) + draw["unexpected_item_height_cm"] / 100
    return np.column_stack([place, np.where(stands, top - item.HALF_HEIGHT_M, PARKED_M)])


def _distractor_places(
    draw: Mapping[str, np.ndarray], begin: Start, thing: SceneObject, others: Sequence[np.ndarray]
) -> np.ndarray:
    """(n, distractors, 3) position of each, clear of the task's entities and of the (n, 3) `others`.

    A distractor that is not drawn, or that has no free place, is below the floor.
    """
    out = np.empty((len(draw["distractor_count"]), len(distractors.USUAL_XY_M), 3))
    taken = list(others)
    work, apart_m = begin.occupied_m, distractors.FROM_WORK_M + max(thing.half_extents_m)
    _, middle_m, longest_m = sorted(thing.half_extents_m)
    radius_m = float(np.hypot(middle_m, longest_m))
    from_others_m = max(distractors.FROM_OTHERS_M, radius_m + distractors.BETWEEN_M)
    half_height_m = thing.half_extents_m[1 if distractors.lies(thing) else 2]
    for number, (name, usual) in enumerate(distractors.USUAL_XY_M.items()):
        off = np.column_stack([draw[f"distractor_place_cm.{name}_{axis}"] for axis in "xy"]) / 100
        place = np.array(usual) + off
        for point in work:
            place = pushed_away(place, point, apart_m)
        place, free = _beside(place, begin, radius_m)
        place = np.clip(place, LOWEST_XY_M, HIGHEST_XY_M)
        stands = free & (number < np.round(draw["distractor_count"]))
        for point in work:
            stands &= is_clear(place, point, apart_m)
        for other in taken:
            stands &= is_clear(place, other[:, :2], from_others_m) | (other[:, 2] < -0.4)
        out[:, number, :2] = place
        out[:, number, 2] = np.where(stands, surface_m(draw, place) + half_height_m, PARKED_M)
        taken.append(out[:, number])
    return out


def _beside(place: np.ndarray, start: Start, radius_m: float) -> tuple[np.ndarray, np.ndarray]:
    """(n, 2) places for a body of this radius, clear of the spaces that entities fill, and (n,) whether they are free.

    A place that is not free is beside the table, or between two entities that leave no room.
    """
    moved = place
    for centre, filled_m in start.spaces:
        moved = pushed_away(moved, centre, filled_m + radius_m)
    free = ((moved >= LOWEST_XY_M) & (moved <= HIGHEST_XY_M)).all(axis=1) | (moved == place).all(axis=1)
    for centre, filled_m in start.spaces:
        free &= is_clear(moved, centre, filled_m + radius_m)
    return moved, free
