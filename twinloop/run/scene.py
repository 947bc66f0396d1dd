"""The scene section: robot, task or tasks, and things."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from twinloop.config.compound import Mapped
from twinloop.config.fields import named, number, of_kind, text, word
from twinloop.config.kinds import Named, Number
from twinloop.config.record import by_name, json_schema, read_record
from twinloop.config.section import Section
from twinloop.errors import nearest
from twinloop.twin.entity import COLOURS, Thing, state_names
from twinloop.twin.objects import OBJECTS, SceneObject
from twinloop.twin.other_things import FREE_XY_M, with_things
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.robots.mjcf import MjcfRobot
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

NAME = "[a-z][a-z0-9_]{0,31}"


@dataclass(frozen=True, kw_only=True)
class RobotKind(Named):
    """The name of a robot, or a mapping for an MJCF or URDF file."""

    FORMS = (str, dict)

    def read(self, section: Section, key: str) -> Robot:
        if isinstance(section.raw(key), dict):
            mapping = section.section(key)
            return read_record(MjcfRobot, mapping, given={"folder": mapping.folder}).load()
        return super().read(section, key)

    def write(self, value: Robot) -> Any:
        return value.name if value.mapping is None else value.mapping.to_json()

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [super().schema(), json_schema(MjcfRobot)]}


@dataclass(frozen=True)
class ThingConfig:
    """A thing of the scene, by the name of an object and a colour."""

    kind: SceneObject | None = named(lambda: OBJECTS, None, help="what it is; the task's own by default")
    colour: str | None = word(None, words=tuple(COLOURS), help="its colour, which instructions name")
    mass_kg: float | None = number(
        None, low=0.001, high=5, unit="kg", help="its mass, where `object_mass_kg` is not varied"
    )

    def thing(self, name: str, own: Thing | None) -> Thing:
        """The thing, which replaces `own` if the task has one of this name."""
        kind = self.kind or (own.object if own is not None else OBJECTS["cube"])
        if self.mass_kg is not None:
            kind = replace(kind, mass_kg=self.mass_kg)
        colour = self.colour or (own.colour if own is not None else "")
        return Thing(name, kind, colour)


@dataclass(frozen=True)
class SceneConfig:
    """Robot, task and things that are simulated."""

    robot: Robot = of_kind(
        RobotKind(registry=robots, help="a robot by name, or a mapping for your own MJCF or URDF file"), FRANKA_PANDA
    )
    task: Task = named(tasks, PICK_AND_PLACE, help="what is to be done")
    object: SceneObject | None = named(
        lambda: OBJECTS, None, help="what the task's first thing is", otherwise="the task's own"
    )
    things: dict[str, ThingConfig] = by_name(
        ThingConfig, names=NAME, form="small letters, digits and _", most=len(FREE_XY_M) + 16, what="thing",
        help="things by name: in place of the task's own, or beside them", short="kind",
    )  # fmt: skip
    tasks: dict[str, float] = of_kind(
        Mapped(item=Number(low=0, high=1e6, above=True), what="share", omit_default=True,
               help="several tasks and their shares of the episodes, instead of `task`"),
        default_factory=dict,
    )  # fmt: skip
    only: str | None = text(
        None, help="simulate only this one of `tasks`; the environment state keeps the entities of all"
    )

    def __post_init__(self):
        if self.only in self.tasks and self.only in tasks():
            object.__setattr__(self, "task", tasks()[self.only])

    def problems(self) -> Iterator[tuple[str, str]]:
        known = tasks()
        for name in self.tasks:
            if name not in known:
                yield "tasks", f"has {name!r}; {nearest(name, known)}"
        if self.only is not None and self.only not in self.tasks:
            yield "only", f"is {self.only!r}, which is not one of `tasks`; {nearest(self.only, self.tasks)}"
        if self.tasks and self.object is not None:
            yield "object", "is the first thing of one task; with several tasks each has its own"
        added = [name for name in self.things if name not in self.task.by_name]
        if len(added) > len(FREE_XY_M):
            yield "things", f"adds {len(added)} things beside those of the task; {len(FREE_XY_M)} have a place"
        for name in self.things:
            if name in self.task.by_name and not isinstance(self.task.by_name[name], Thing):
                yield "things", f"has {name!r}, which is a fixture of task {self.task.name}; choose another name"

    @cached_property
    def world(self) -> Task:
        """The task with the things of this scene."""
        task = self.task if self.object is None else self.task.with_object(self.object)
        own = {thing.name: thing for thing in task.things}
        # A thing of another task of the run is not added to this one.
        elsewhere = {name for other in self.tasks for name in tasks()[other].by_name}
        things = {
            name: about.thing(name, own.get(name))
            for name, about in self.things.items()
            if name in own or name not in elsewhere
        }
        return with_things(task, things) if things else task

    @property
    def is_single(self) -> bool:
        """Whether there is one task to simulate."""
        return not self.tasks or self.only is not None

    def of_tasks(self) -> "dict[str, SceneConfig]":
        """Task -> its scene. All scenes of a run with several tasks have the same layout."""
        if self.is_single:
            return {self.task.name: self}
        return {name: replace(self, only=name) for name in self.tasks}

    @cached_property
    def layout(self) -> tuple[str, ...]:
        """Elements of the environment state of a run with several tasks: the entities of all; () for one task."""
        worlds = [replace(self, only=name).world for name in self.tasks]
        return state_names(tuple({entity.name: entity for world in worlds for entity in world.entities}.values()))
