"""The scene section: robot, task or tasks, and things."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from twinloop.config.compound import Mapped
from twinloop.config.fields import internal, named, number, numbers, of_kind, text, word
from twinloop.config.kinds import Named, Number
from twinloop.config.record import Nested, json_schema, read_record, write_record
from twinloop.config.section import Section
from twinloop.errors import ModelError, nearest
from twinloop.twin.bystander import NAME as BYSTANDER
from twinloop.twin.entity import COLOURS, Thing, state_names
from twinloop.twin.item import NAME as ITEM
from twinloop.twin.meshes.mesh_body import DENSITY_KG_M3, UPRIGHT, mesh_object
from twinloop.twin.objects import OBJECTS, SceneObject
from twinloop.twin.other_things import FREE_XY_M, with_things
from twinloop.twin.robot import Robot
from twinloop.twin.robot_files.mjcf import MjcfRobot
from twinloop.twin.robot_parts.robot_set import MAX_ARMS, Base, overlap_of, robot_set
from twinloop.twin.robots import robots
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit_arms, used_frames
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

NAME = "[a-z][a-z0-9_]{0,31}"
RESERVED = ("world", "table", BYSTANDER, ITEM)
"""Names of bodies that scenes have besides their entities."""


def _set_of(arms: "dict[str, ArmConfig]") -> Robot:
    """The robot of a scene with two robots. Its name has those of both."""
    name = "_and_".join(arm.robot.name for arm in arms.values())
    bases = {key: Base(arm.position_m, arm.yaw_deg) for key, arm in arms.items()}
    return robot_set(name, {key: arm.robot for key, arm in arms.items()}, bases)


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

    def omits(self, value: Robot) -> bool:
        # The robot of a scene with two robots is written under `robots`.
        return bool(value.several) and value.name not in robots()

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [super().schema(), json_schema(MjcfRobot)]}


@dataclass(frozen=True)
class ThingConfig:
    """A thing of the scene: an object by name, or a mesh."""

    kind: SceneObject | None = named(lambda: OBJECTS, None, help="what it is; the task's own by default")
    colour: str | None = word(None, words=tuple(COLOURS), help="its colour, which instructions name")
    mass_kg: float | None = number(
        None, low=0.001, high=5, unit="kg", help="its mass, where `object_mass_kg` is not varied"
    )
    mesh: str | None = text(
        None, filled=True,
        help="a closed mesh (.obj, .stl, .dae, .ply, .glb, .gltf) instead of `kind`: path relative to the config file",
        otherwise="`kind`",
    )  # fmt: skip
    root: str | None = text(
        None, help="folder that the mesh and its textures lie in, relative to the config file",
        otherwise="the config's folder",
    )  # fmt: skip
    scale: float | None = number(
        None, low=0, above=True, high=1e6, help="metres per unit of the mesh file: 0.001 for millimetres",
        otherwise="1",
    )  # fmt: skip
    up: str | None = word(None, words=tuple(UPRIGHT), help="the axis of the mesh file that points up")
    density_kg_m3: float | None = number(
        None, low=1, high=25000, unit="kg/m³", help="density of the mesh, where `mass_kg` is not given",
        otherwise=f"{DENSITY_KG_M3:g}",
    )  # fmt: skip
    folder: Path = internal(Path())

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.mesh is None:
            for key in ("root", "scale", "up", "density_kg_m3"):
                if getattr(self, key) is not None:
                    yield key, "describes a mesh; give `mesh` too, or remove it"
            return
        if self.kind is not None:
            yield "kind", "and `mesh` are two descriptions of one thing; remove one of them"
        if self.density_kg_m3 is not None and self.mass_kg is not None:
            yield "density_kg_m3", "and `mass_kg` are both given; remove one of them"
        try:
            self._mesh_object()
        except ModelError as error:
            yield "mesh", str(error)

    @property
    def root_folder(self) -> Path:
        return self.folder.resolve() / (self.root or "")

    @property
    def mesh_file(self) -> Path:
        return self.folder.resolve() / (self.mesh or "")

    def _mesh_object(self) -> SceneObject:
        return mesh_object(
            self.mesh_file, self.root_folder, scale=self.scale or 1.0, up=self.up or "z", mass_kg=self.mass_kg,
            density_kg_m3=self.density_kg_m3 or DENSITY_KG_M3,
        )  # fmt: skip

    def thing(self, name: str, own: Thing | None) -> Thing:
        """The thing, which replaces `own` if the task has one of this name."""
        if self.mesh is not None:
            # The colour of the task's own thing is not that of the mesh.
            return Thing(name, self._mesh_object(), self.colour or "")
        kind = self.kind or (own.object if own is not None else OBJECTS["cube"])
        if self.mass_kg is not None:
            kind = replace(kind, mass_kg=self.mass_kg)
        colour = self.colour or (own.colour if own is not None else "")
        return Thing(name, kind, colour)


@dataclass(frozen=True, kw_only=True)
class ThingKind(Nested):
    """A thing: the name of an object, or a mapping."""

    record: type = ThingConfig
    short: str = "kind"

    def read(self, section: Section, key: str) -> ThingConfig:
        if not self.has_form(section.raw(key)):
            raise self.refused(section, key)
        return read_record(ThingConfig, section.section(key, short=self.short), given={"folder": section.folder})

    def write(self, value: ThingConfig) -> dict[str, Any]:
        """The mapping, with paths that do not depend on the folder of the config."""
        if value.mesh is None:
            return write_record(value)
        places = {"mesh": str(value.mesh_file.resolve()), "root": str(value.root_folder.resolve())}
        return write_record(value) | places


@dataclass(frozen=True)
class ArmConfig:
    """One arm of a scene with two robots: the robot that it is, and where it stands."""

    robot: Robot = of_kind(
        RobotKind(registry=robots, help="a robot with one arm by name, or a mapping for your own file")
    )
    position_m: tuple[float, float, float] | None = numbers(
        None, low=-2, high=2, count=3, unit="m", help="where its base is",
        otherwise="beside the other arm, the first one at positive y",
    )  # fmt: skip
    yaw_deg: float = number(
        0.0, low=-360, high=360, unit="°", help="direction of its base about the vertical; 0 faces the table"
    )


@dataclass(frozen=True)
class SceneConfig:
    """Robot, task and things that are simulated."""

    robot: Robot = of_kind(
        RobotKind(registry=robots, help="a robot by name, or a mapping for your own MJCF or URDF file"), FRANKA_PANDA
    )
    robots: dict[str, ArmConfig] = of_kind(
        Mapped(item=Nested(record=ArmConfig, short="robot"), names=NAME, form="small letters, digits and _", most=8,
               what="arm", omit_default=True,
               help="two robots at one table by the names of the arms, e.g. `left` and `right`, instead of `robot`"),
        default_factory=dict,
    )  # fmt: skip
    task: Task = named(tasks, PICK_AND_PLACE, help="what is to be done")
    object: SceneObject | None = named(
        lambda: OBJECTS, None, help="what the task's first thing is", otherwise="the task's own"
    )
    things: dict[str, ThingConfig] = of_kind(
        Mapped(item=ThingKind(), names=NAME, form="small letters, digits and _", most=len(FREE_XY_M) + 16,
               what="thing", help="things by name: in place of the task's own, or beside them"),
        default_factory=dict,
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
        if len(self.robots) == MAX_ARMS and not any(arm.robot.several for arm in self.robots.values()):
            object.__setattr__(self, "robot", _set_of(self.robots))
        if len(self.tasks) == 1 and self.only is None:
            object.__setattr__(self, "only", next(iter(self.tasks)))
        if self.only in self.tasks and self.only in tasks():
            object.__setattr__(self, "task", tasks()[self.only])

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from self._robot_problems()
        known = tasks()
        for name in self.tasks:
            if name not in known:
                yield "tasks", f"has {name!r}; {nearest(name, known)}"
        if self.only is not None and not self.tasks:
            yield "only", f"is {self.only!r}, and there are no `tasks`; give the one task as `task: {self.only}`"
        elif self.only is not None and self.only not in self.tasks:
            yield "only", f"is {self.only!r}, which is not one of `tasks`; {nearest(self.only, self.tasks)}"
        if self.tasks and self.object is not None:
            yield "object", "is the first thing of one task; with several tasks each has its own"
        yield from self._thing_problems()

    def _thing_problems(self) -> Iterator[tuple[str, str]]:
        own, roles = self.task.by_name, {role.name for role in self.task.roles}
        added = [name for name in self.things if name not in own]
        if len(added) > len(FREE_XY_M):
            yield (
                "things",
                f"adds {len(added)} things beside those of the task; {len(FREE_XY_M)} have a place. Remove some",
            )
        for name, about in self.things.items():
            if name in own and not isinstance(own[name], Thing):
                yield "things", f"has {name!r}, which is a fixture of task {self.task.name}; choose another name"
            if name in RESERVED or name in roles:
                what = f"a role of task {self.task.name}" if name in roles else "a part of every scene"
                yield "things", f"has {name!r}, which is the name of {what}; choose another name"
            missing = sorted(self._missing_frames(name, about))
            if missing:
                yield (
                    "things",
                    f"replaces {name!r}, of which the task {self.task.name} uses the frame {' and '.join(missing)}; "
                    f"the new one has no such frame. Keep the task's own {name}, or choose another name for the thing",
                )

    def _missing_frames(self, name: str, about: ThingConfig) -> set[str]:
        """Frames that the task uses of a thing of its own, and that the thing in its place does not have."""
        own = self.task.by_name.get(name)
        if not isinstance(own, Thing) or (about.mesh is None and about.kind is None):
            return set()
        frames = () if about.kind is None else about.kind.frames
        return used_frames(self.task, name) - {frame.name for frame in frames}

    def _robot_problems(self) -> Iterator[tuple[str, str]]:
        if self.robots and len(self.robots) != MAX_ARMS:
            yield (
                "robots",
                f"has {len(self.robots)} ({', '.join(self.robots)}); two were expected. One robot is `robot`",
            )
        for name, arm in self.robots.items():
            if arm.robot.several:
                yield "robots", f"{name} is {arm.robot.name}, which has two arms itself; name it with `robot` instead"
        overlap = overlap_of(self.robot) if self.robots else ""
        if overlap:
            yield "robots", f"start inside each other: {overlap}. Move the bases apart with `position_m`, or turn them"
        for name in self.tasks if self.only is None else (self.only,):
            unfit = unfit_arms(tasks()[name], self.robot) if name in tasks() else ""
            if unfit:
                yield "tasks", unfit
        unfit = "" if self.tasks else unfit_arms(self.task, self.robot)
        if unfit:
            yield "task", unfit

    @cached_property
    def world(self) -> Task:
        """The task with the things of this scene."""
        task = self.task.for_robot(self.robot)
        task = task if self.object is None else task.with_object(self.object)
        own = {thing.name: thing for thing in task.things}
        # A thing of another task of the run is not added to this one.
        known = tasks()
        elsewhere = {name for other in self.tasks for name in known[other].by_name}
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
        for scene in self._each_alone.values():
            # Computed once: it needs the things of all tasks.
            vars(scene)["layout"] = self.layout
        return self._each_alone

    @cached_property
    def _each_alone(self) -> "dict[str, SceneConfig]":
        """Task -> the scene that has only this one of `tasks`."""
        return {name: replace(self, only=name) for name in self.tasks}

    @cached_property
    def layout(self) -> tuple[str, ...]:
        """Elements of the environment state of a run with several tasks: the entities of all; () for one task."""
        worlds = [scene.world for scene in self._each_alone.values()]
        return state_names(tuple({entity.name: entity for world in worlds for entity in world.entities}.values()))
