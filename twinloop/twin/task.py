"""Task: entities, where they start, a program of skills, success and instructions. A new task is a new file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from twinloop.twin.area import Area, Entities
from twinloop.twin.entity import Draw, Entity, Fixture, Thing
from twinloop.twin.failure import COMMON, Failure
from twinloop.twin.language import Language
from twinloop.twin.objects import SceneObject
from twinloop.twin.phase import Phase
from twinloop.twin.relations import Relation
from twinloop.twin.robot import Robot
from twinloop.twin.scene import Scene, Start
from twinloop.twin.task_checks import refuse_bad_task

BRISK_RAD_S, MOST_LONGER = 1.5, 5.0
"""A robot whose slowest joint turns slower than this gets more time, and at most so many times as much."""


@dataclass(frozen=True)
class Role:
    """A part that one of several entities plays. Programs, relations and instructions name the role.

    Each episode draws a number k (row `task_choice`), and every role is played by its candidate k. So all roles of a
    task have equally many candidates, and two roles are played by different entities if their candidates k differ.

    Attributes:
        words: what an instruction calls the candidates, where it is not the entity's own words ("").
    """

    name: str
    candidates: tuple[str, ...]
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """The work of a robot, as data that an expert can follow and a check can test.

    Attributes:
        entities: things first, then fixtures. The first thing is the one that the config's `object` replaces.
        start: (draw, number of episodes, the task's entities by name) -> Start. See `twin/placing.py`.
        program: the phases that the scripted expert follows. Skills make them (`twin/skills/`).
        success: relations that must hold together at the end.
        language: instructions with slots, and their paraphrases.
        roles: parts that different entities play in different episodes.
        longest_s: a longer episode ends.
        goal: the entity that is the goal, for tasks that bring one thing to one place; "" for others.
        failures: names of what goes wrong; the first that holds is given.
        unvaried: rows of the parameter table that cannot vary here, e.g. because they would move a vessel without
            what is in it.
        ranges: (row, low, high) of rows whose sensible range is not sensible for the things of this task.
        fitted: robot -> this task for a robot with a small hand or a short reach: smaller things and fixtures, or
            other skills. None for a task that needs no other fitting than that of `twin/assemble.py`.
        area: the robot's area of the table, if its places are not those that the task gives.
        travels: places are farther apart than an arm reaches, so the robot needs a mobile base.
        least_axes: of each arm; 6 for a task that fixes position and direction of a held thing.

    Example:
        >>> task = tl.load_config("cell.yaml").scene.task
        >>> isinstance(task, tl.Task), task.phase_names[:3]
        (True, ('approach', 'descend', 'grasp'))
    """

    name: str
    entities: tuple[Entity, ...]
    start: Callable[[Draw, int, Mapping[str, Entity]], Start]
    program: tuple[Phase, ...]
    success: tuple[Relation, ...]
    language: Language
    longest_s: float = 20.0
    roles: tuple[Role, ...] = ()
    goal: str = ""
    failures: tuple[Failure, ...] = COMMON
    unvaried: tuple[str, ...] = ()
    ranges: tuple[tuple[str, float, float], ...] = ()
    fitted: "Callable[[Robot], Task] | None" = None
    area: Area | None = None
    travels: bool = False
    least_axes: int = 0

    def __post_init__(self):
        refuse_bad_task(self)

    @property
    def phases(self) -> tuple[Phase, ...]:
        return self.program

    @cached_property
    def phase_names(self) -> tuple[str, ...]:
        """A name for each phase. Phases of the same name get that of their thing, or else a number, behind it."""
        names = [f"{phase.arm} {phase.name}".strip() for phase in self.program]
        for wider in (lambda phase, _: phase.thing.partition(".")[0], lambda _, number: str(number)):
            twice = {name for name in names if names.count(name) > 1}
            names = [
                f"{name} {wider(phase, number)}".strip() if name in twice else name
                for number, (name, phase) in enumerate(zip(names, self.program, strict=True), start=1)
            ]
        return tuple(names)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms that the program moves; ("",) for a task of one arm."""
        return tuple(dict.fromkeys(phase.arm for phase in self.program))

    @property
    def things(self) -> tuple[Thing, ...]:
        return tuple(entity for entity in self.entities if isinstance(entity, Thing))

    @property
    def varied_things(self) -> tuple[str, ...]:
        """Names of the things that rows of the parameter table act on."""
        return tuple(thing.name for thing in self.things if not thing.grain)

    @property
    def own_ranges(self) -> dict[str, tuple[float, float]]:
        """Row -> range that presets use for it."""
        return {row: (low, high) for row, low, high in self.ranges}

    @property
    def fixtures(self) -> tuple[Fixture, ...]:
        return tuple(entity for entity in self.entities if isinstance(entity, Fixture))

    @property
    def by_name(self) -> Entities:
        return Entities(self.entities, self.area)

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(fixture.name for fixture in self.fixtures if fixture.person)

    def with_object(self, kind: SceneObject) -> "Task":
        """The task with another object as its first thing."""
        first, *rest = self.entities
        assert isinstance(first, Thing)
        if first.object == kind:
            return self
        return replace(self, entities=(replace(first, object=kind), *rest), fitted=None)

    def for_robot(self, robot: Robot) -> "Task":
        """The task as this robot does it. A slow robot has more time."""
        task = self if self.fitted is None else self.fitted(robot)
        slowest_rad_s = BRISK_RAD_S if robot.travels else min(robot.velocity_limits_rad_s)
        if slowest_rad_s >= BRISK_RAD_S:
            return task
        longer = min(BRISK_RAD_S / slowest_rad_s, MOST_LONGER)
        program = tuple(
            replace(phase, longest_s=longer * phase.longest_s, stalls_s=longer * phase.stalls_s)
            for phase in task.program
        )
        return replace(task, program=program, longest_s=longer * task.longest_s, fitted=None)

    def choices(self, chance: np.ndarray) -> dict[str, np.ndarray]:
        """Role -> (n,) index of the candidate that plays it, for (n,) numbers between 0 and 1."""
        if not self.roles:
            return {}
        count = len(self.roles[0].candidates)
        number = np.minimum((chance * count).astype(int), count - 1)
        return {role.name: number for role in self.roles}

    def succeeded(self, scene: Scene) -> np.ndarray:
        """(n,) whether all relations of `success` hold."""
        return np.logical_and.reduce([relation.holds(scene) for relation in self.success])

    def first_unmet(self, scene: Scene) -> np.ndarray:
        """(n,) number of the first relation of `success` that does not hold; -1 if all hold."""
        holds = np.stack([relation.holds(scene) for relation in self.success])
        return np.where(holds.all(axis=0), -1, holds.argmin(axis=0))

    def progress(self, scene: Scene) -> np.ndarray:
        """(n,) dense reward between 0 and 1: mean progress of the relations."""
        return np.mean([relation.progress(scene) for relation in self.success], axis=0)
