"""Surroundings: bodies in a cell that are not part of its task. A twin has a kind only if a config varies its row."""

from collections.abc import Mapping
from typing import Literal, get_args

import mujoco
import numpy as np

from twinloop.twin import bystander, clutter, distractors, item
from twinloop.twin.objects import SceneObject
from twinloop.twin.scene import Start

Kind = Literal["distractors", "item", "bystander", "occluders"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def furnish(spec: mujoco.MjSpec, thing: SceneObject, kinds: frozenset[Kind]) -> None:
    """Add the bodies that have contacts. Occluders have none; they are part of the stage."""
    if "distractors" in kinds:
        distractors.furnish(spec, thing)
    if "item" in kinds:
        item.furnish(spec)
    if "bystander" in kinds:
        bystander.furnish(spec)


def standing(
    draw: Mapping[str, np.ndarray], begin: Start, thing: SceneObject, kinds: frozenset[Kind]
) -> dict[str, np.ndarray]:
    """Body -> (n, 3) its position in each episode, for bodies that do not move."""
    clutter_m = clutter.poses(draw, begin)
    item_m = item.poses(draw, begin)
    out = {item.NAME: item_m} if "item" in kinds else {}
    if "distractors" in kinds:
        others = (*np.moveaxis(clutter_m, 1, 0), item_m)
        places = distractors.poses(draw, begin, thing, others)
        out |= {f"distractor/{name}": places[:, number] for number, name in enumerate(distractors.USUAL_XY_M)}
    return out
