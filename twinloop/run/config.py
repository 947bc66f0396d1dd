"""RunConfig: one run, resolved: every default filled in, every name looked up."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from twinloop.config.fields import integer, number, of_kind, text
from twinloop.config.record import json_schema, nested, read_record, write_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import parse_yaml, read_yaml
from twinloop.curate.limits import CurateConfig
from twinloop.errors import UsageError, nearest
from twinloop.observe.camera import CameraConfig, default_cameras
from twinloop.observe.sensors import ObserveConfig
from twinloop.randomize.distribution import Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.fill import FillConfig
from twinloop.randomize.parameter import Presence
from twinloop.randomize.table import BY_NAME, TABLE, rows_of_other_robots
from twinloop.run.cameras import CAMERAS, read_cameras
from twinloop.run.environment import EnvironmentConfig
from twinloop.run.grip_check import refuse_ungrippable
from twinloop.run.randomization import RandomizationKind, sensible
from twinloop.run.scene import SceneConfig
from twinloop.simulate.drives.nominal import drivable_joints, refuse_unknown
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.content import robot_content, source_digest, task_content
from twinloop.twin.fixtures.hole import CLEARANCE_ROW
from twinloop.twin.legs import LEGGED
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robot_drive import RobotDrive
from twinloop.twin.robots import robots
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.wheels import WHEELED

T = TypeVar("T")

MOST_EPISODES = 1 << 30  # points of the Sobol sequence
MOST_SEED = (1 << 63) - 1
SHARD_EPISODES = 64
SHARD_EPISODES_WITH_CAMERAS = 4
"""Rendering takes seconds per episode. Small shards let several workers share a small run. The default depends on the
config alone, so a dataset's digest is the same at any number of workers."""

"""A number that selects one of several things, all equally often."""

UNDECISIVE = {
    "rollout.parallel_envs": "how many simulations run at once",
    "rollout.episodes_per_env": "how many episodes there are",
    "rollout.seed": "the seed identifies an episode together with the digest and the index",
    "dataset.shard_episodes": "how many episodes share a file; the dataset's header compares it",
}
"""Keys that do not affect episodes and are left out of the digest -> what they affect instead."""


@dataclass(frozen=True)
class RolloutConfig:
    """How many episodes, and the clocks they run on."""

    parallel_envs: int = integer(256, low=1, high=1_000_000, help="largest number of simulations in flight")
    episodes_per_env: int = integer(4, low=1, high=1_000_000, help="times parallel_envs: the number of episodes")
    seed: int = integer(0, low=0, high=MOST_SEED, help="the run seed")
    control_hz: int = integer(25, low=5, high=200, unit="Hz", help="how often actions change and frames are recorded")
    timestep_ms: float = number(4.0, low=0.5, high=10, unit="ms", help="step of the physics")

    @property
    def episodes(self) -> int:
        return self.parallel_envs * self.episodes_per_env

    def problems(self) -> Iterator[tuple[str, str]]:
        steps = 1000 / self.control_hz / self.timestep_ms
        if abs(steps - round(steps)) > 1e-6:
            yield (
                "timestep_ms", f"is {self.timestep_ms:g}; a control period of {1000 / self.control_hz:g} ms "
                "must hold a whole number of steps"
            )  # fmt: skip


@dataclass(frozen=True)
class DatasetConfig:
    """How episodes are stored."""

    shard_episodes: int = integer(
        SHARD_EPISODES, low=1, high=4096,
        help="episodes in a shard, the unit of work, commit, retry and verification",
        otherwise=f"{SHARD_EPISODES}; {SHARD_EPISODES_WITH_CAMERAS} with cameras",
    )  # fmt: skip


@dataclass(frozen=True)
class RunConfig:
    """One run, resolved: every default is filled in and every name is looked up. `load_config` makes one.

    Example:
        >>> config = tl.load_config("cell.yaml").with_seed(7)
        >>> config.rollout.seed, sorted(config.randomization)[0]
        (7, 'friction_coefficient')
        >>> config.digest == config.with_seed(8).digest      # the seed is not part of the config's digest
        True
    """

    scene: SceneConfig = nested(SceneConfig, help="robot, task and object")
    randomization: dict[str, Distribution] = of_kind(
        RandomizationKind(help="what varies from episode to episode, and how"), default_factory=dict
    )
    rollout: RolloutConfig = nested(RolloutConfig, help="number of episodes, seed and clocks")
    expert: ExpertConfig = nested(ExpertConfig, help="the scripted demonstrator")
    observe: ObserveConfig = nested(ObserveConfig, help="what is recorded")
    curate: CurateConfig = nested(CurateConfig, help="limits of the plausibility checks")
    dataset: DatasetConfig = nested(DatasetConfig, help="how episodes are stored")
    cameras: dict[str, CameraConfig] = of_kind(CAMERAS, default_factory=dict)
    drive: RobotDrive | None = nested(
        RobotDrive, optional=True, help="servo law of the robot's joints, in place of its position actuators"
    )
    environment: EnvironmentConfig | None = nested(
        EnvironmentConfig, optional=True, help="reinforcement learning: observations, rewards and ends of episodes"
    )
    patch: str | None = text(
        None, filled=True, help="digest of the patch that the twin was fitted with; `--patch` writes it"
    )

    fill: FillConfig | None = nested(
        FillConfig, optional=True, help="regions that are drawn more often; `generate --fill` writes it"
    )

    def resolved(self) -> dict[str, Any]:
        """As a config file says it, with every default written out."""
        return write_record(self)

    @property
    def cameras_or_default(self) -> dict[str, CameraConfig]:
        """The config's cameras, or a default pair where it has none."""
        return self.cameras or default_cameras(rate_hz=self.rollout.control_hz, width=192, height=192)

    def with_seed(self, seed: int) -> "RunConfig":
        return replace(self, rollout=replace(self.rollout, seed=seed))

    @cached_property
    def by_task(self) -> "dict[str, RunConfig]":
        """Task -> the config of its episodes. A run with one task has itself."""
        if self.scene.is_single:
            return {self.scene.task.name: self}
        return {name: replace(self, scene=scene, randomization=self._rows_of(scene.world))
                for name, scene in self.scene.of_tasks().items()}  # fmt: skip

    def _rows_of(self, task: Task) -> dict[str, Distribution]:
        """The rows that apply to one of several tasks."""
        inapplicable, things = inapplicable_rows(task), set(task.varied_things)
        rows: dict[str, Distribution] = {}
        for name, distribution in self.randomization.items():
            row, _, part = name.partition(".")
            if row not in inapplicable and (
                not part or part in things or BY_NAME[row].of_joint or part in BY_NAME[row].elements
            ):  # fmt: skip
                # A preset was read before the task was known.
                own = name in task.own_ranges and distribution == sensible(BY_NAME[name], self.scene.robot)
                rows[name] = Uniform(*task.own_ranges[name]) if own else distribution
        return always_varied(task) | rows

    def for_task(self, name: str | None) -> "RunConfig":
        """The config of one of the run's tasks; None is for a run that has one task only."""
        if name is None and len(self.by_task) == 1:
            return next(iter(self.by_task.values()))
        if name not in self.by_task:
            given = "none was named" if name is None else f"{name!r} was given"
            raise UsageError(f"--task: {given}; the config has {', '.join(self.by_task)}")
        return self.by_task[name]

    def with_task(self, name: str) -> "RunConfig":
        """This config with another task: one of its own, or any by name. Rows that do not fit it are left out."""
        if self.scene.tasks:
            return self.for_task(name)
        scene = replace(self.scene, task=_named("task", name, tasks()), object=None)
        return replace(self, scene=scene, randomization=self._rows_of(scene.world))

    def with_tasks(self, names: Iterable[str]) -> "RunConfig":
        """This config with several tasks of equal shares."""
        shares = {_named("task", name, tasks()).name: 1.0 for name in names}
        return replace(self, scene=replace(self.scene, task=PICK_AND_PLACE, tasks=shares, only=None, object=None))

    def with_robot(self, name: str) -> "RunConfig":
        return replace(self, scene=replace(self.scene, robot=_named("robot", name, robots()), robots={}))

    def of_episode(self, episode: int) -> "RunConfig":
        """The config of one episode: that of the task of its shard."""
        return self.by_task[self.task_of_shard(episode // self.dataset.shard_episodes)]

    def task_of_shard(self, shard: int) -> str:
        """The task whose episodes a shard holds. Any number of shards has every task by its share, within one shard."""
        names = list(self.by_task)
        if len(names) == 1:
            return names[0]
        shares = tuple(self.scene.tasks[name] for name in names)
        # Computed for a power of two of shards at once, because each depends on the ones before.
        return names[_dealt(shares, 1 << shard.bit_length())[shard]]

    def sampler(self, randomization: Mapping[str, Distribution] | None = None, *, seed: int | None = None) -> Sampler:
        """The sampler of this run; of another randomization of the same scene, or with another seed, if given."""
        things = self.scene.world.varied_things
        rows = self.randomization if randomization is None else randomization
        fill = self.fill if randomization is None else None
        return Sampler(rows, seed=self.rollout.seed if seed is None else seed, things=things, fill=fill)

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.resolved(), sort_keys=False, allow_unicode=True)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all settings that affect episodes, and of no others.

        Robot, task and object are in it by content, not by name or path. `UNDECISIVE` lists what is left out.
        """
        content = self.resolved()
        scenes = self.scene.of_tasks()
        content["scene"] = {
            "robot": robot_content(self.scene.robot),
            "tasks": [task_content(scene.world) for scene in scenes.values()],
            "layout": self.scene.layout,
        }
        content.pop("environment", None)  # it decides how a policy is trained, and no episode
        for name, camera in self.cameras.items():
            if camera.background is not None:
                content["cameras"][name]["background"]["pictures"] = camera.background.digest
        for path in UNDECISIVE:
            section, _, key = path.partition(".")
            del content[section][key]
        if not self.scene.is_single:
            # A shard holds episodes of one task, so its size decides which task an episode has.
            content["shares"] = [self.scene.tasks, self.dataset.shard_episodes]
        content["parameters"] = source_digest(
            *(function for name in self.randomization for function in BY_NAME[name].functions)
        )
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _named(what: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UsageError(f"{what} {name!r}: {nearest(name, known)}")
    return known[name]


@lru_cache
def _dealt(shares: tuple[float, ...], count: int) -> tuple[int, ...]:
    """Number of the task of each of `count` shards: always that of the task that is furthest behind its share."""
    wanted, done, dealt = np.array(shares) / sum(shares), np.zeros(len(shares)), []
    for shard in range(count):
        dealt.append(int(np.argmax(wanted * (shard + 1) - done)))
        done[dealt[-1]] += 1
    return tuple(dealt)


def load_config(path: str | PathLike[str]) -> RunConfig:
    """Read a config file, check every key, and fill in every default.

    Args:
        path: a YAML file. Relative paths in it are relative to its folder.

    Raises:
        ConfigError: a key or value is wrong; the message names the file, line and key, and what is valid.

    Example:
        >>> config = tl.load_config("cell.yaml")
        >>> config.scene.robot.name, config.rollout.control_hz
        ('franka_panda', 25)
    """
    path = Path(path)
    value, lines = read_yaml(path)
    return _read(Section(str(path), "", value, lines, folder=path.parent))


def config_from_text(text: str, *, name: str, folder: Path) -> RunConfig:
    """A config from text that is not (or no longer) in a file. Its relative paths are relative to `folder`."""
    value, lines = parse_yaml(text, name)
    return _read(Section(name, "", value, lines, folder=folder))


def run_schema() -> dict[str, Any]:
    """JSON Schema of a run's config file."""
    return json_schema(RunConfig, title="Twinloop run config")


def _read(root: Section) -> RunConfig:
    about = root.section("scene")
    if "robot" in about and about.raw("robot") in LEGGED:
        # Imported here because it is a kind of run config itself.
        from twinloop.run.walk import read_walk

        return read_walk(root)
    if "robot" in about and about.raw("robot") in WHEELED:
        from twinloop.run.wheels import read_wheels

        return read_wheels(root)
    if "robot" in about and "robots" in about:
        raise about.error("robots", "is given beside `robot`; one of the two was expected")
    if "task" in about and "tasks" in about:
        task, shares = about.raw("task"), about.raw("tasks")
        # A resolved config has the default task beside several.
        if shares and task != PICK_AND_PLACE.name and not (isinstance(shares, dict) and task in shares):
            raise about.error("task", f"is {task!r}, which is not one of `tasks`; remove it, or give it a share there")
    scene = read_record(SceneConfig, about)
    rollout = read_record(RolloutConfig, root.section("rollout"))
    cameras = read_cameras(root.section("cameras"), control_hz=rollout.control_hz)
    dataset = DatasetConfig(SHARD_EPISODES_WITH_CAMERAS if cameras else SHARD_EPISODES)
    config = read_record(
        RunConfig,
        root,
        given={
            "scene": scene,
            "rollout": rollout,
            "randomization": _randomization(root, scene),
            "cameras": cameras,
            "dataset": read_record(DatasetConfig, root.section("dataset"), base=dataset),
        },
    )
    refuse_ungrippable(root.section("scene"), scene)
    _refuse_unvaried_fill(root, config)
    if config.drive is not None:
        refuse_unknown(config.drive, scene.robot, where=f"{root.file}: drive.joints")
    if config.rollout.episodes > MOST_EPISODES:
        raise UsageError(f"{root.file}: {config.rollout.episodes:,} episodes; {MOST_EPISODES:,} at most in one run")
    return config


def _refuse_unvaried_fill(root: Section, config: RunConfig) -> None:
    if config.fill is None:
        return
    varied = {column for one in config.by_task.values() for column in one.sampler().varied}
    for region in config.fill.regions:
        for column in region.quantiles:
            if column not in varied:
                raise root.error("fill", f"names the column {column!r}; {nearest(column, varied)}")


def _randomization(root: Section, scene: SceneConfig) -> dict[str, Distribution]:
    joints = drivable_joints(scene.robot)
    if not scene.is_single:
        names = {thing.name: None for one in scene.of_tasks().values() for thing in one.world.things}
        return RandomizationKind(
            inapplicable=rows_of_other_robots("arm"), things=tuple(names), joints=joints, robot=scene.robot
        ).read(root, "randomization")
    task = scene.world
    kind = RandomizationKind(
        inapplicable=inapplicable_rows(task), things=task.varied_things, joints=joints, robot=scene.robot,
        ranges=task.own_ranges,
    )  # fmt: skip
    rows = kind.read(root, "randomization")
    return rows | {name: values for name, values in always_varied(task).items() if name not in rows}


def always_varied(task: Task) -> dict[str, Distribution]:
    """Rows that vary even if a config does not name them: a task with roles asks for each of its entities in turn."""
    present = {"roles"} if task.roles else set()
    present |= {"products"} if any(thing.object.pool for thing in task.things) else set()
    return {row.name: Uniform(*row.sensible) for row in TABLE if row.always_with in present}


def inapplicable_rows(task: Task) -> dict[str, str]:
    """Parameters that do not apply to the things of a task -> why."""
    missing = _missing(task)
    out = {row.name: missing[part] for row in TABLE for part in row.only_with if part in missing}
    out |= rows_of_other_robots("arm")
    return out | dict.fromkeys(task.unvaried, f"cannot vary in the task {task.name}; remove it")


def _missing(task: Task) -> dict[Presence, str]:
    """Missing properties of the things of a task -> why rows that need it do not apply."""
    out: dict[Presence, str] = {}
    soft = [thing.object.name for thing in task.things if thing.object.soft]
    if soft:
        out["rigid"] = f"applies to rigid objects; the {soft[0]} is soft"
    else:
        names, known = (", ".join(dict.fromkeys(n)) for n in (
            (thing.object.name for thing in task.things), (other.name for other in OBJECTS.values() if other.soft)
        ))  # fmt: skip
        out["soft"] = f"applies to soft objects; the {names} is rigid. Soft objects: {known}"
    if not any(thing.object.pool for thing in task.things):
        out["products"] = f"applies to things that are drawn from a pool of products; {task.name} has none"
    if any(thing.object.parts or thing.object.pool for thing in task.things):
        out["one_part"] = "applies to objects of one part"
    meshes = [thing.name for thing in task.things if thing.object.mesh is not None]
    if meshes:
        out["primitives"] = (
            f"applies to objects made of primitives; {meshes[0]} is a mesh: remove it, or give the mesh another scale"
        )
    if CLEARANCE_ROW in {row for fixture in task.fixtures for row in fixture.rows}:
        out["no_hole"] = f"would make an object that does not fit its hole; {CLEARANCE_ROW} varies the fit"
    else:
        out["hole"] = f"applies to tasks with a hole; {task.name} has none"
    return out
