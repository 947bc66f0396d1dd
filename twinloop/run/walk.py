"""WalkConfig: a run of a legged robot. It is a run config whose scene has a terrain instead of a table."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from twinloop.config.fields import integer, named, number, span, word
from twinloop.config.record import json_schema, nested, read_record
from twinloop.config.section import Section
from twinloop.errors import UsageError
from twinloop.randomize.distribution import Distribution
from twinloop.randomize.draw import Sampler
from twinloop.randomize.table import BY_NAME, rows_of_other_robots
from twinloop.run.config import UNDECISIVE, RolloutConfig, RunConfig
from twinloop.run.environment import EnvironmentConfig
from twinloop.run.randomization import RandomizationKind
from twinloop.twin.content import source_digest
from twinloop.twin.legs import legged_robots
from twinloop.twin.legs.legged_robot import LeggedRobot
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import KINDS, make_terrain
from twinloop.twin.legs.walk_task import WALK, WALK_TASKS, WalkTask
from twinloop.twin.legs.walk_twin import WalkTwin, assemble_walk
from twinloop.twin.task import Task

SECTIONS = ("scene", "commands", "randomization", "rollout", "environment")
"""Sections of a config file of a legged robot."""
ROLLOUT = RolloutConfig(parallel_envs=256, episodes_per_env=1, control_hz=50, timestep_ms=5.0)
START_ROOM_M = 0.02
"""The base may start this much lower than in the nominal pose."""


@dataclass(frozen=True)
class WalkScene:
    """A legged robot on a terrain."""

    robot: LeggedRobot = named(legged_robots, QUADRUPED, help="the robot")
    task: WalkTask = named(lambda: WALK_TASKS, WALK, help="what it does")
    terrain: str = word("flat", words=tuple(KINDS), help="the ground")
    terrain_seed: int = integer(0, low=0, high=2**31, help="the same seed gives the same ground")
    start_height_m: float | None = number(
        None, low=0, high=5, unit="m", help="height of the base above the ground when an episode begins",
        otherwise="that of the nominal pose",
    )  # fmt: skip

    @property
    def world(self) -> Task:
        """A scene with a table and things, which a legged robot does not have."""
        raise UsageError(
            f"scene.robot: {self.robot.name} has legs; this command is for arms with a task on a table. Configs of "
            "legged robots are for `twinloop reinforce`, `evaluate`, `generate` and `view`, and for `tl.make_env`"
        )

    def of_tasks(self) -> "dict[str, WalkScene]":
        return {self.task.name: self}

    @property
    def is_single(self) -> bool:
        return True

    @property
    def tasks(self) -> dict[str, float]:
        return {}

    def problems(self) -> Iterator[tuple[str, str]]:
        lowest = self.robot.home_height_m - START_ROOM_M
        if self.start_height_m is not None and self.start_height_m < lowest:
            yield (
                "start_height_m",
                f"is {self.start_height_m:g}; the feet of the {self.robot.name} would start inside the ground. Its "
                f"nominal pose needs {self.robot.home_height_m:g} m: give more, or remove the key",
            )


@dataclass(frozen=True)
class CommandConfig:
    """Velocities that the robot is asked for. A new command is drawn in every interval."""

    forward_m_s: tuple[float, float] = span(
        (-1.0, 1.0), low=-5, high=5, point=True, unit="m/s", help="range of forward speeds"
    )
    sideways_m_s: tuple[float, float] = span(
        (-0.5, 0.5), low=-5, high=5, point=True, unit="m/s", help="range of speeds to the left"
    )
    turn_rad_s: tuple[float, float] = span(
        (-1.0, 1.0), low=-10, high=10, point=True, unit="rad/s", help="range of turn rates"
    )
    interval_s: float = number(5.0, low=0.1, high=600, unit="s", help="time from command to command")
    standing_share: float = number(0.1, low=0, high=1, help="share of commands to stand still")


@dataclass(frozen=True)
class WalkConfig(RunConfig):
    """One run of a legged robot, resolved. `load_config` makes one from a file whose robot has legs."""

    scene: WalkScene = nested(WalkScene, help="robot, task and terrain")  # pyright: ignore
    rollout: RolloutConfig = nested(RolloutConfig, help="seed and clocks")
    commands: CommandConfig = nested(CommandConfig, help="velocities that the robot is asked for")

    def resolved(self) -> dict[str, Any]:
        sections = super().resolved()
        return {name: sections[name] for name in SECTIONS if name in sections}

    @cached_property
    def by_task(self) -> dict[str, RunConfig]:
        return {self.scene.task.name: self}

    def sampler(self, randomization: Mapping[str, Distribution] | None = None, *, seed: int | None = None) -> Sampler:
        rows = self.randomization if randomization is None else randomization
        return Sampler(rows, seed=self.rollout.seed if seed is None else seed)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that decides what an episode looks like, and of nothing else."""
        content = self.resolved()
        content.pop("environment", None)
        for path in UNDECISIVE:
            section, _, key = path.partition(".")
            content.get(section, {}).pop(key, None)
        content["robot"] = source_digest(self.scene.robot.build)
        content["parameters"] = source_digest(
            *(function for name in self.randomization for function in BY_NAME[name].functions)
        )
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def without_randomization(self) -> "WalkConfig":
        return replace(self, randomization={})


def read_walk(root: Section) -> WalkConfig:
    """Read the config of a legged robot."""
    for key in root:
        if key not in SECTIONS:
            raise root.error(key, f"is no section of a legged robot's config; it has {', '.join(SECTIONS)}")
    scene = read_record(WalkScene, root.section("scene"))
    kind = RandomizationKind(inapplicable=rows_of_other_robots("legs"), robot=scene.robot)  # pyright: ignore
    given: dict[str, Any] = {
        "scene": scene,
        "rollout": read_record(RolloutConfig, root.section("rollout"), base=ROLLOUT),
        "randomization": kind.read(root, "randomization") if "randomization" in root else {},
        "commands": read_record(CommandConfig, root.section("commands")),
    }
    if "environment" in root:
        given["environment"] = read_record(EnvironmentConfig, root.section("environment"))
    return WalkConfig(**given)


@lru_cache(maxsize=4)
def _compiled(
    robot: LeggedRobot,
    terrain: str,
    seed: int,
    control_hz: int,
    timestep_s: float,
    delay_s: float,
    longest_s: float,
    start_height_m: float | None,
) -> WalkTwin:
    return assemble_walk(
        robot, make_terrain(terrain, seed=seed), control_hz=control_hz, timestep_s=timestep_s, longest_delay_s=delay_s,
        longest_s=longest_s, start_height_m=start_height_m,
    )  # fmt: skip


def walk_twin_of(config: RunConfig) -> WalkTwin:
    """The twin that a config describes, compiled once per process."""
    if not isinstance(config, WalkConfig):
        raise UsageError(f"scene.robot: {config.scene.robot.name} is an arm; a legged robot was expected")
    rows = [(BY_NAME[name], distribution) for name, distribution in config.randomization.items()]
    delay_ms = sum(row.delay_line_ms * distribution.support()[1] for row, distribution in rows if row.delay_line_ms)
    scene, rollout = config.scene, config.rollout
    return _compiled(
        scene.robot, scene.terrain, scene.terrain_seed, rollout.control_hz, rollout.timestep_ms / 1000,
        delay_ms / 1000, scene.task.longest_s, scene.start_height_m,
    )  # fmt: skip


def walk_schema() -> dict[str, Any]:
    """JSON Schema of the config file of a legged robot."""
    return json_schema(WalkConfig, title="Twinloop run config of a legged robot")
