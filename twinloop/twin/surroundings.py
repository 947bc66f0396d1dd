"""Surroundings: bodies in a cell that are not part of its task. A twin has a kind only if a config varies its row."""

from typing import Literal, get_args

import mujoco

from twinloop.twin import bystander, distractors, item
from twinloop.twin.objects import SceneObject

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
