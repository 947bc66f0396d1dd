"""RunConfig: one run of the factory, resolved: every default filled in, every name looked up."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import yaml

from twinloop.config.section import Section
from twinloop.config.yaml_file import parse_yaml, read_yaml
from twinloop.curate.limits import CurateConfig
from twinloop.errors import UsageError
from twinloop.observe.camera import CameraConfig, default_cameras
from twinloop.observe.sensors import ObserveConfig, Velocity
from twinloop.randomize.distribution import Distribution
from twinloop.randomize.matter import OF_RIGID, OF_SOFT
from twinloop.randomize.parameter import GROUPS
from twinloop.randomize.table import BY_NAME
from twinloop.run.cameras import read_cameras, written_cameras
from twinloop.run.randomization import read_randomization, written_row
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.objects import OBJECTS, SceneObject
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.robots.mjcf import MjcfRobot
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks

MOST_EPISODES = 1 << 30  # points of the Sobol sequence
MOST_SEED = (1 << 63) - 1
SHARD_EPISODES = 64
SHARD_EPISODES_WITH_CAMERAS = 4
"""Rendering takes seconds per episode. Small shards let several workers share a small run. The default depends on the
config alone, so the digest is the same at any number of workers."""


@dataclass(frozen=True)
class SceneConfig:
    robot: Robot
    task: Task
    object: SceneObject
    mjcf: MjcfRobot | None = None


@dataclass(frozen=True)
class RolloutConfig:
    """parallel_envs: simulations in flight at most. episodes_per_env: times that, the total.
    control_hz: how often actions change and frames are recorded. timestep_ms: of the physics."""

    parallel_envs: int = 256
    episodes_per_env: int = 4
    seed: int = 0
    control_hz: int = 25
    timestep_ms: float = 4.0

    @property
    def episodes(self) -> int:
        return self.parallel_envs * self.episodes_per_env


@dataclass(frozen=True)
class DatasetConfig:
    """Attributes:
    shard_episodes: episodes in a shard, the unit of work, commit, retry and verification.
    """

    shard_episodes: int = SHARD_EPISODES


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

    scene: SceneConfig
    randomization: dict[str, Distribution]
    rollout: RolloutConfig
    expert: ExpertConfig
    observe: ObserveConfig
    curate: CurateConfig
    dataset: DatasetConfig
    cameras: dict[str, CameraConfig] = field(default_factory=dict)

    def resolved(self) -> dict[str, Any]:
        """As a config file would say it, with nothing left out."""
        groups: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
        for name, distribution in self.randomization.items():
            parameter = BY_NAME[name]
            groups[parameter.group][name] = written_row(parameter, distribution)
        # A config without cameras says nothing of them: its digest is the one it had before there were any.
        cameras = {"cameras": written_cameras(self.cameras)} if self.cameras else {}
        return {
            "scene": {
                "robot": _written_robot(self.scene),
                "task": self.scene.task.name,
                "object": self.scene.object.name,
            },
            "randomization": {group: rows for group, rows in groups.items() if rows},
            "rollout": asdict(self.rollout),
            "expert": _written_expert(self.expert),
            "observe": _written_observe(self.observe),
            "curate": asdict(self.curate),
            "dataset": asdict(self.dataset),
            **cameras,
        }

    @property
    def cameras_or_default(self) -> dict[str, CameraConfig]:
        """The config's cameras, or a default pair where it has none."""
        return self.cameras or default_cameras(rate_hz=self.rollout.control_hz, width=192, height=192)

    def with_seed(self, seed: int) -> "RunConfig":
        return replace(self, rollout=replace(self.rollout, seed=seed))

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.resolved(), sort_keys=False, allow_unicode=True)

    @property
    def digest(self) -> str:
        """Of all that decides what an episode looks like; not of how many there are, nor of the seed."""
        content = self.resolved()
        content["scene"]["robot"] = self.scene.robot.name
        for key in ("parallel_envs", "episodes_per_env", "seed"):
            del content["rollout"][key]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
    return _read(Section(str(path), "", value, lines), path.parent)


def config_from_text(text: str, *, name: str, folder: Path) -> RunConfig:
    """A config that is not (or no longer) a file; `folder` is what its relative paths are relative to."""
    value, lines = parse_yaml(text, name)
    return _read(Section(name, "", value, lines), folder)


def _read(root: Section, folder: Path) -> RunConfig:
    rollout = _read_rollout(root.section("rollout"))
    scene = _read_scene(root.section("scene"), folder)
    cameras = read_cameras(root.section("cameras"), control_hz=rollout.control_hz)
    config = RunConfig(
        scene=scene,
        randomization=read_randomization(root, idle=idle_rows(scene.object)),
        rollout=rollout,
        expert=_read_expert(root.section("expert")),
        observe=_read_observe(root.section("observe")),
        curate=_read_curate(root.section("curate")),
        dataset=_read_dataset(root.section("dataset"), cameras=bool(cameras)),
        cameras=cameras,
    )
    root.finish()
    if config.rollout.episodes > MOST_EPISODES:
        raise UsageError(f"{root.file}: {config.rollout.episodes:,} episodes; {MOST_EPISODES:,} at most in one run")
    return config


def _read_scene(section: Section, folder: Path) -> SceneConfig:
    mjcf = None
    if isinstance(section.raw("robot"), dict):
        mjcf = _read_mjcf(section.section("robot"), folder)
        robot = mjcf.load()
    else:
        robot = section.one_of("robot", "franka_panda", robots())
    scene = SceneConfig(
        robot=robot,
        task=section.one_of("task", "pick_and_place", tasks()),
        object=section.one_of("object", "cube", OBJECTS),
        mjcf=mjcf,
    )
    section.finish()
    return scene


def _read_mjcf(section: Section, folder: Path) -> MjcfRobot:
    gripper = section.section("gripper")
    fingers = gripper.texts("fingers")
    if len(fingers) != 2:
        raise gripper.error("fingers", f"names {len(fingers)} bodies; the two that hold the object were expected")
    robot = MjcfRobot(
        path=folder / section.text("mjcf", ""),
        arm_joints=section.texts("arm_joints"),
        gripper_joints=gripper.texts("joints"),
        gripper_actuator=gripper.text("actuator", ""),
        fingers=fingers,
        gripper_open=gripper.number("open", 0.08, low=-10, high=10),
        gripper_closed=gripper.number("closed", 0.0, low=-10, high=10),
        tool_site=section.text("tool_frame", "tool"),
        home_rad=section.numbers("home"),
    )
    if robot.gripper_open == robot.gripper_closed:
        raise gripper.error("open", f"and closed are both {robot.gripper_open:g}; they must differ")
    gripper.finish()
    section.finish()
    return robot


def _written_robot(scene: SceneConfig) -> Any:
    robot = scene.mjcf
    if robot is None:
        return scene.robot.name
    return {
        "mjcf": str(robot.path.resolve()),
        "arm_joints": list(robot.arm_joints),
        "gripper": {
            "joints": list(robot.gripper_joints),
            "actuator": robot.gripper_actuator,
            "fingers": list(robot.fingers),
            "open": robot.gripper_open,
            "closed": robot.gripper_closed,
        },
        "tool_frame": robot.tool_site,
        "home": list(robot.home_rad),
    }


def _read_rollout(section: Section) -> RolloutConfig:
    default = RolloutConfig()
    rollout = RolloutConfig(
        parallel_envs=section.integer("parallel_envs", default.parallel_envs, low=1, high=1_000_000),
        episodes_per_env=section.integer("episodes_per_env", default.episodes_per_env, low=1, high=1_000_000),
        seed=section.integer("seed", default.seed, low=0, high=MOST_SEED),
        control_hz=section.integer("control_hz", default.control_hz, low=5, high=200),
        timestep_ms=section.number("timestep_ms", default.timestep_ms, low=0.5, high=10),
    )
    steps = 1000 / rollout.control_hz / rollout.timestep_ms
    if abs(steps - round(steps)) > 1e-6:
        raise section.error(
            "timestep_ms", f"is {rollout.timestep_ms:g}; a control period of {1000 / rollout.control_hz:g} ms "
            f"must hold a whole number of steps"
        )  # fmt: skip
    section.finish()
    return rollout


def _read_expert(section: Section) -> ExpertConfig:
    default = ExpertConfig()
    expert = ExpertConfig(
        action_noise_rad=section.number("action_noise_rad", default.action_noise_rad, low=0, high=0.2),
        noise_memory_s=section.number("noise_memory_s", default.noise_memory_s, low=0.001, high=10),
        retries=section.integer("retries", default.retries, low=0, high=10),
        yields_to_people=section.flag("yields_to_people", default.yields_to_people),
        slips=section.number("slips", default.slips, low=0, high=1),
    )
    section.finish()
    return expert


def _written_expert(expert: ExpertConfig) -> dict[str, Any]:
    values = asdict(expert)
    # One that does not yield says nothing of it: its digest is the one it had before there was anybody to yield to.
    if not expert.yields_to_people:
        del values["yields_to_people"]
    if not expert.slips:
        del values["slips"]
    return values


def _read_observe(section: Section) -> ObserveConfig:
    default = ObserveConfig()
    config = ObserveConfig(
        velocity=section.one_of("velocity", default.velocity, {word: word for word in get_args(Velocity)}),
        wrist=section.flag("wrist", default.wrist),
        touch=section.flag("touch", default.touch),
        keep_clean=section.flag("keep_clean", default.keep_clean),
    )
    section.finish()
    return config


def _written_observe(observe: ObserveConfig) -> dict[str, Any]:
    """A config without touch says nothing of it: its digest is the one it had before there was any."""
    return {key: value for key, value in asdict(observe).items() if key != "touch" or value}


def idle_rows(thing: SceneObject) -> dict[str, str]:
    """Parameters that mean nothing for an object, and why."""
    if thing.soft:
        return dict.fromkeys(OF_RIGID, f"is of rigid objects; the {thing.name} is soft")
    soft = ", ".join(each.name for each in OBJECTS.values() if each.soft)
    return dict.fromkeys(OF_SOFT, f"is of soft objects; the {thing.name} is rigid. Soft ones: {soft}")


def _read_curate(section: Section) -> CurateConfig:
    default = CurateConfig()
    limits = {
        name: section.number(name, value, low=0, high=1e6)
        for name, value in asdict(default).items()
        if name != "require_success"
    }
    config = CurateConfig(**limits, require_success=section.flag("require_success", default.require_success))
    section.finish()
    return config


def _read_dataset(section: Section, *, cameras: bool) -> DatasetConfig:
    default = SHARD_EPISODES_WITH_CAMERAS if cameras else SHARD_EPISODES
    config = DatasetConfig(shard_episodes=section.integer("shard_episodes", default, low=1, high=4096))
    section.finish()
    return config
