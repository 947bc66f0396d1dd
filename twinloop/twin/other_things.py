"""A task with other things than its own: replaced by name, or added as things that are not part of the task."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from twinloop.twin.area import Entities
from twinloop.twin.entity import Draw, Entity, Fixture, Thing
from twinloop.twin.placing import Layout
from twinloop.twin.scene import Start
from twinloop.twin.task import Task

FREE_XY_M = ((0.34, 0.02), (0.62, -0.3), (0.34, -0.3), (0.36, 0.32), (0.66, 0.34), (0.3, 0.17), (0.7, -0.14))
"""Where added things stand, one after the other, unless something else is there."""


def with_things(task: Task, things: Mapping[str, Thing]) -> Task:
    """The task with these things: in place of its own of the same name, or beside them."""
    entities = [things.get(entity.name, entity) if isinstance(entity, Thing) else entity for entity in task.entities]
    added = tuple(thing for name, thing in things.items() if name not in task.by_name)
    own = tuple(entity for entity in entities if isinstance(entity, Thing))
    fixtures = tuple(entity for entity in entities if isinstance(entity, Fixture))
    if not added:
        return replace(task, entities=(*own, *fixtures), fitted=None)
    return replace(task, entities=(*own, *added, *fixtures), start=_start_with(task, added), fitted=None)


def _start_with(task: Task, added: tuple[Thing, ...]):
    names = {thing.name for thing in added}

    def start(draw: Draw, count: int, entities: Mapping[str, Entity]) -> Start:
        own = Entities(
            (entity for name, entity in entities.items() if name not in names), getattr(entities, "area", None)
        )
        base = task.start(draw, count, own)
        layout = Layout(draw, count, entities)
        for name, poses in base.poses.items():
            layout.pose(name, poses, clear_m=_radius_m(own[name]))
        for thing, place_m in zip(added, FREE_XY_M, strict=False):
            layout.thing(thing.name, place_m)
        made = layout.done()
        return Start(made.poses, base.values, (*base.spaces, *made.spaces[len(base.poses) :]))

    return start


def _radius_m(entity: Entity) -> float:
    """Radius of the area around an entity that added things keep clear of; the open hand needs some room."""
    own = float(np.hypot(*entity.object.half_extents_m[:2])) if isinstance(entity, Thing) else entity.footprint_m
    return max(own, 0.03) + 0.05
