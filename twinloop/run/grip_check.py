"""Check before a run that the gripper can close on the things that a task grasps."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from twinloop.config.section import Section
from twinloop.run.scene import SceneConfig
from twinloop.twin.entity import Thing
from twinloop.twin.grasps import grips_of
from twinloop.twin.gripper_opening import opening_m
from twinloop.twin.task import Task

SLACK_M = 0.003
"""A thing that is wider than the measured opening by less than this is left to the simulation."""


def gripped_things(task: Task) -> Iterator[Thing]:
    """The things that a task's program grasps by themselves, not by a frame on them."""
    roles = {role.name: role.candidates for role in task.roles}
    for phase in task.program:
        if phase.grip is None or phase.grip.approach == "frame":
            continue
        for name in roles.get(phase.grip.of, (phase.grip.of,)):
            entity = task.by_name.get(name)
            if isinstance(entity, Thing) and not entity.object.soft:
                yield entity


def _narrowest_m(thing: Thing, opening_m: float) -> float:
    """Width of the narrowest grip of a thing: along or against its z axis, or across it if it is tall and may lie down.

    Without a grip it is the narrowest part of a mesh if that is wider than the opening, and else infinite.
    """
    grips = grips_of(thing.object, opening_m=opening_m)
    x, y, z = thing.object.half_extents_m
    usable = grips.valid[0] & ((np.abs(grips.axes[0][:, 2, 2]) > 0.9) | (z >= max(x, y)))
    if usable.any():
        return float(grips.widths_m[0][usable].min())
    narrowest = float(grips.widths_m[0].min())
    return narrowest if narrowest >= opening_m + SLACK_M else np.inf


def refuse_ungrippable(section: Section, scene: SceneConfig) -> None:
    """ConfigError if a thing that the config gives is too wide for the gripper.

    Args:
        section: the scene section of the config, for the message.
    """
    given = scene.object is not None or scene.things or scene.robot.mapping is not None
    for task in (one.world for one in scene.of_tasks().values()) if given else ():
        for thing in gripped_things(task):
            opening = opening_m(scene.robot)
            fitted = scene.robot.widest_grip_m
            if fitted is not None and thing.name not in scene.things and scene.object is None:
                # The task's own things are made small enough when the cell is assembled.
                thing = replace(thing, object=thing.object.narrowed(fitted))
            narrowest = _narrowest_m(thing, opening)
            if narrowest < opening + SLACK_M:
                continue
            mesh = thing.object.mesh
            what = f"the {thing.object.name}" if mesh is None else f"{mesh.source}"
            why = (
                f"{what} is {1000 * narrowest:.3g} mm wide where it is narrowest"
                if np.isfinite(narrowest)
                else f"no part of {what} has two opposite sides that its fingers can reach"
            )
            key = f"things.{thing.name}" if thing.name in scene.things else "object" if scene.object else "robot"
            raise section.error(
                key,
                f"the gripper of {scene.robot.name} opens by {1000 * opening:.3g} mm and cannot close on it: {why}. "
                "Give a smaller thing (a mesh: a smaller scale) or a robot with a wider gripper",
            )
