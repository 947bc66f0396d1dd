"""The scene section: a robot, a task and an object by name, or a user's robot by path."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from twinloop.config.fields import named, of_kind
from twinloop.config.kinds import Named
from twinloop.config.record import json_schema, read_record
from twinloop.config.section import Section
from twinloop.twin.objects import OBJECTS, SceneObject
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.robots.mjcf import MjcfRobot
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE


@dataclass(frozen=True, kw_only=True)
class RobotKind(Named):
    """The name of a robot, or a mapping for an MJCF file."""

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
class SceneConfig:
    """Robot, task and object that are simulated."""

    robot: Robot = of_kind(
        RobotKind(registry=robots, help="a robot by name, or a mapping for your own MJCF file"), FRANKA_PANDA
    )
    task: Task = named(tasks, PICK_AND_PLACE, help="what is to be done")
    object: SceneObject = of_kind(
        Named(registry=lambda: OBJECTS, help="what the task's first thing is", default="the task's own"), None
    )

    def __post_init__(self):
        if self.object is None:
            object.__setattr__(self, "object", self.task.things[0].object)

    @cached_property
    def world(self) -> Task:
        """The task with the things of this scene."""
        return self.task.with_object(self.object)
